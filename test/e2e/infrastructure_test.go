package e2e

import (
	"fmt"
	"sync"
	"testing"

	"foyer/client"
)

// The default behavior of infrastructure-as-code tools works: many concurrent calls each make a whole object; it is read
// back as it was made, left alone by a second run, changed in place, found by its name, and deleted twice.
func TestInfrastructureAsCode(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newSettings(t, engine, "")
			i := launch(t, s)
			c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
			check(t, err)
			const apps, atOnce = 60, 30
			turns := make(chan struct{}, atOnce)
			var all sync.WaitGroup
			for n := range apps {
				all.Go(func() {
					turns <- struct{}{}
					defer func() { <-turns }()
					if err := applyTwice(t, c.Organization(client.Current), fmt.Sprintf("app-%02d", n)); err != nil {
						t.Errorf("app %d: %v", n, err)
					}
				})
			}
			all.Wait()
		})
	}
}

func applyTwice(t *testing.T, o *client.Organization, name string) error {
	ctx := t.Context()
	draft := client.AppDraft{
		PluginType: client.PluginSource, Name: name, Description: "by code", Tag: "v1",
		Source: client.Files{"site.ts": "export const name = \"" + name + "\";"},
	}
	made, err := o.CreateApp(ctx, draft)
	if err != nil {
		return err
	}
	read, err := o.GetSource(ctx, made.ID)
	if err != nil || read.Name != name || read.Description != draft.Description || read.Tag != draft.Tag || read.Source["site.ts"] != draft.Source["site.ts"] {
		return fmt.Errorf("it is read as %+v, %w", read, err)
	}
	again := client.SourcePatch{ // the object that was read, sent back
		AppPatch: client.AppPatch{Name: &read.Name, Description: &read.Description, Tag: &read.Tag, URL: &read.URL},
		Source:   client.FileEdits{"site.ts": new(draft.Source["site.ts"])},
	}
	if _, err := o.UpdateSource(ctx, made.ID, again); err != nil {
		return fmt.Errorf("the same sent again: %w", err)
	}
	if same, err := o.ListVersions(ctx, made.ID, client.Range{}); err != nil || same.Count != 1 {
		return fmt.Errorf("the same sent again has made %d versions, %w", same.Count, err)
	}
	changed, err := o.UpdateApp(ctx, made.ID, client.AppPatch{Description: new("changed in place")})
	if err != nil || changed.ID != made.ID || changed.Description != "changed in place" {
		return fmt.Errorf("changed to %+v, %w", changed, err)
	}
	found, err := o.ListApps(ctx, client.AppFilter{Search: name}, client.Range{})
	if err != nil || found.Count != 1 || found.Results[0].ID != made.ID {
		return fmt.Errorf("found %+v, %w", found, err)
	}
	if err := o.DeleteApp(ctx, made.ID); err != nil {
		return err
	}
	if err := o.DeleteApp(ctx, made.ID); !client.IsNotFound(err) {
		return fmt.Errorf("deleted twice: %w", err)
	}
	return nil
}
