package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/infra/upstream/upstreamtest"
)

// job is what a test knows about a job of the cookbook.
type job struct {
	prepare func(t *testing.T, c *cook) int64 // makes what the job works on, and returns its id
	done    func(ctx context.Context, c *cook, id int64, out string) error
	spoil   func(t *testing.T, c *cook) // then the job exits with 1, and prints fault
	fault   string
	endless bool
}

var jobs = map[string]job{
	"Install an app": {
		prepare: func(t *testing.T, c *cook) int64 {
			publish(t, c.banner, "Banner", "v1.0.0")
			return 0
		},
		done: func(ctx context.Context, c *cook, _ int64, _ string) error {
			found, err := c.org.ListApps(ctx, client.AppFilter{Search: "Banner"}, client.Range{})
			return holds(err, found.Count == 1 && found.Results[0].Tag == "v1.0.0", found)
		},
	},
	"Push a folder from a pipeline": {
		prepare: func(t *testing.T, c *cook) int64 {
			writeFile(t, filepath.Join(c.dir, "greeting", "site.ts"), "import { word } from \"./word\";\nexport const inject = () => word;\n")
			writeFile(t, filepath.Join(c.dir, "greeting", "word.ts"), "export const word = \"Hello\";\n")
			return newApp(t, c, client.AppDraft{Name: "greeting"})
		},
		done: func(ctx context.Context, c *cook, id int64, _ string) error {
			app, err := c.org.GetSource(ctx, id)
			return holds(err, len(app.Source) == 2 && app.Bundle != nil, app)
		},
		spoil: func(t *testing.T, c *cook) {
			writeFile(t, filepath.Join(c.dir, "greeting", "word.ts"), "// No value.\nexport const = 2;\n")
		},
		fault: "word.ts:2:14: ",
	},
	"Upgrade what has updates, after a review": {
		prepare: func(t *testing.T, c *cook) int64 {
			publish(t, c.chat, "Chat", "v1.0.0")
			id := newApp(t, c, client.AppDraft{PluginType: client.PluginCustom, URL: c.chat.URL})
			publish(t, c.chat, "Chat", "v1.1.0")
			if _, _, err := c.org.CheckForUpdates(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return id
		},
		done: func(ctx context.Context, c *cook, id int64, out string) error {
			app, err := c.org.GetApp(ctx, id)
			return holds(err, app.Tag == "v1.1.0" && strings.Contains(out, "-// v1.0.0"), app)
		},
	},
	"Roll back to an earlier version": {
		prepare: func(t *testing.T, c *cook) int64 {
			id := newApp(t, c, client.AppDraft{Name: "Clock", Source: client.Files{"site.ts": "// first"}})
			second := client.SourcePatch{Source: client.FileEdits{"site.ts": new("// second")}, Message: "With seconds"}
			if _, err := c.org.UpdateSource(t.Context(), id, second); err != nil {
				t.Fatal(err)
			}
			return id
		},
		done: func(ctx context.Context, c *cook, id int64, out string) error {
			app, err := c.org.GetSource(ctx, id)
			return holds(err, app.Source["site.ts"] == "// first" && strings.Contains(out, "With seconds"), app)
		},
	},
	"Place an app on a site, with values": {
		prepare: func(t *testing.T, c *cook) int64 {
			schema := json.RawMessage(`[{"key": "text", "name": "Text", "type": "string", "default": "Hello!", "site": true}]`)
			return newApp(t, c, client.AppDraft{Name: "Welcome", ConfigSchema: schema})
		},
		done: func(ctx context.Context, c *cook, id int64, out string) error {
			placed, err := c.org.ListSitesOfApp(ctx, id, client.Range{})
			return holds(err, placed.Count == 1 && placed.Results[0].Site.Name == "Shop" && len(placed.Results[0].Paths) == 1 &&
				strings.Contains(string(placed.Results[0].Values), "Good morning") && strings.Contains(out, "<script"), placed)
		},
	},
	"Stop an app in an emergency": {
		prepare: func(t *testing.T, c *cook) int64 { return newApp(t, c, client.AppDraft{Name: "Ticker"}) },
		done: func(ctx context.Context, c *cook, id int64, _ string) error {
			app, err := c.org.GetSource(ctx, id)
			if err := holds(err, app.Disabled == nil, app); err != nil {
				return err
			}
			stopped, err := c.org.ListAudit(ctx, client.AuditFilter{ItemID: strconv.FormatInt(id, 10), Activity: "disabled"}, client.Range{})
			return holds(err, stopped.Count == 1, stopped)
		},
	},
	"Invite a team from a table": {
		prepare: func(t *testing.T, c *cook) int64 {
			writeFile(t, filepath.Join(c.dir, "team.csv"), "target_email,first_name\ngrace@example.com,Grace\nnobody,\nalan@example.com,Alan\n")
			return 0
		},
		done: func(ctx context.Context, c *cook, _ int64, out string) error {
			invites, err := c.org.ListInvites(ctx, client.InviteFilter{}, client.Range{})
			return holds(err, invites.Count == 2 && strings.Contains(out, "grace@example.com") && strings.Contains(out, "Must be an e-mail address"), invites)
		},
	},
	"Offboard a person": {
		prepare: func(t *testing.T, c *cook) int64 {
			organization, err := c.org.Get(t.Context())
			check(t, err)
			for _, email := range []string{"jada@example.com", "ada@example.com"} {
				c.admin(t, &struct{}{}, "member", "add", "--organization="+organization.ID, "--email="+email, "--level=admin")
			}
			c.leaver = c.keyOf(t, organization.ID, "ada@example.com")
			return 0
		},
		done: func(ctx context.Context, c *cook, _ int64, out string) error {
			members, err := c.org.ListMembers(ctx, client.MemberFilter{}, client.Range{})
			if err := holds(err, members.Count == 2 && members.Results[1].User.Email == "jada@example.com" && strings.Contains(out, "key "), members); err != nil {
				return err
			}
			return refused(ctx, c, c.leaver)
		},
	},
	"Rotate a key": {
		prepare: func(t *testing.T, c *cook) int64 {
			made, err := c.client.CreateKey(t.Context(), client.KeyDraft{Name: "deploy", Scopes: []string{"plugin:write"}})
			check(t, err)
			return made.ID
		},
		done: func(ctx context.Context, c *cook, id int64, _ string) error {
			for key, err := range c.client.AllKeys(ctx) {
				if err != nil || key.ID == id {
					return holds(err, false, key)
				}
			}
			text, err := os.ReadFile(filepath.Join(c.dir, "deploy.key"))
			if err != nil {
				return err
			}
			_, err = asKey(c, strings.TrimSpace(string(text))).ListApps(ctx, client.AppFilter{}, client.Range{})
			return err
		},
	},
	"Follow the activity into a file": {
		prepare: func(t *testing.T, c *cook) int64 { return newApp(t, c, client.AppDraft{Name: "Followed"}) },
		done: func(_ context.Context, c *cook, _ int64, _ string) error {
			text, err := os.ReadFile(filepath.Join(c.dir, "activity.ndjson"))
			return holds(err, bytes.Contains(text, []byte(`"name":"Followed"`)), string(text))
		},
		endless: true,
	},
	"Have events sent to a webhook": {
		done: func(ctx context.Context, c *cook, _ int64, out string) error {
			webhooks, err := c.org.ListWebhooks(ctx, client.Range{})
			if err := holds(err, webhooks.Count == 1 && strings.Contains(out, "whsec_") && strings.Contains(out, "webhook.test"), webhooks); err != nil {
				return err
			}
			sent, err := c.org.ListDeliveries(ctx, webhooks.Results[0].ID, client.Range{})
			tests := slices.DeleteFunc(slices.Clone(sent.Results), func(d client.WebhookDelivery) bool { return d.Type != "webhook.test" }) // apps of other jobs change
			return holds(err, len(tests) == 1 && tests[0].State == "delivered", sent)
		},
	},
	"Change safely": {
		prepare: func(t *testing.T, c *cook) int64 { return newApp(t, c, client.AppDraft{Name: "Footer"}) },
		done: func(ctx context.Context, c *cook, id int64, out string) error {
			app, err := c.org.GetApp(ctx, id)
			if err := holds(err, app.Description == "Mine" && strings.Contains(out, "It has changed"), app); err != nil {
				return err
			}
			found, err := c.org.ListApps(ctx, client.AppFilter{Search: "Guestbook"}, client.Range{})
			return holds(err, found.Count == 1, found)
		},
	},
}

// holds returns an error about a value that is not as expected.
func holds(err error, as bool, read any) error {
	if err == nil && !as {
		err = fmt.Errorf("it is %+v", read)
	}
	return err
}

// newApp makes an app. Its files are kept in foyer unless the draft says otherwise.
func newApp(t *testing.T, c *cook, draft client.AppDraft) int64 {
	t.Helper()
	if draft.PluginType == "" {
		draft.PluginType = client.PluginSource
	}
	app, err := c.org.CreateApp(t.Context(), draft)
	check(t, err)
	return app.ID
}

// publish makes the next version of an app in its repository.
func publish(t *testing.T, repo *upstreamtest.Repo, name, tag string) {
	t.Helper()
	repo.Tag(t, tag, repo.Commit(t, map[string]string{"plugin.json": fmt.Sprintf(`{"name": %q}`, name), "site.ts": "// " + tag}))
}

// asKey calls the organization with another key.
func asKey(c *cook, key string) *client.Organization {
	other, err := client.New(c.url, key)
	if err != nil {
		panic(err) // the address is that of a working client
	}
	return other.Organization(client.Current)
}

// refused checks that a key gives no access.
func refused(ctx context.Context, c *cook, key string) error {
	_, err := asKey(c, key).Get(ctx)
	if answer, ok := errors.AsType[*client.Error](err); ok && answer.Status == http.StatusUnauthorized {
		return nil
	}
	return fmt.Errorf("the key still opens the organization: %w", err)
}
