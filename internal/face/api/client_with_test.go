package api_test

import (
	"errors"
	"net/http"
	"testing"

	"foyer/client"
)

// The client reads ETags, and sends conditions, dry runs and strict handling.
func TestClientAsks(t *testing.T) {
	each(t, func(r *rig) {
		c, err := client.New(r.url, r.key)
		if err != nil {
			r.t.Fatal(err)
		}
		o, ctx := c.Organization(client.Current), r.t.Context()
		var tag string
		app, err := o.With(client.ETag(&tag)).CreateApp(ctx, client.AppDraft{Name: "x"})
		if err != nil || tag == "" {
			r.t.Fatal(err, tag)
		}
		dry, err := o.With(client.DryRun(), client.Strict(), client.IfMatch(tag)).UpdateApp(ctx, app.ID, client.AppPatch{Name: new("y")})
		if err != nil || dry.Name != "y" {
			r.t.Error(dry, err)
		}
		for range 2 {
			once, err := o.With(client.IdempotencyKey("a key")).CreateApp(ctx, client.AppDraft{Name: "once"})
			if err != nil || once.ID != app.ID+1 {
				r.t.Error(once, err)
			}
		}
		if kept, err := o.With(client.DryRun(), client.IfMatch(`"x"`)).GetApp(ctx, app.ID); err != nil || kept.Name != "x" {
			r.t.Error(kept, err)
		}
		refused, ok := errors.AsType[*client.Error](o.With(client.IfMatch(`"x"`)).DeleteApp(ctx, app.ID))
		if !ok || refused.Status != http.StatusPreconditionFailed {
			r.t.Error(refused)
		}
	})
}
