package e2e

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"foyer/client"
)

// journey uses the main features of foyer through the Go client: it makes, reads, changes and deletes an app and an
// invite, and leaves one of each.
func journey(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.New(ts.Getenv("URL"), ts.Getenv("KEY"))
	ts.Check(err)
	o := c.Organization(client.Current)
	for _, name := range []string{"Banner", "Survey"} {
		_, err := o.CreateApp(ctx, client.AppDraft{Name: name})
		ts.Check(err)
		_, err = o.CreateInvite(ctx, client.InviteDraft{TargetEmail: name + "@example.com"})
		ts.Check(err)
	}
	renamed := "Poll"
	for app, err := range o.AllApps(ctx, client.AppFilter{}) {
		ts.Check(err)
		if app.Name == "Banner" {
			ts.Check(o.DeleteApp(ctx, app.ID))
			continue
		}
		app, err = o.UpdateApp(ctx, app.ID, client.AppPatch{Name: &renamed})
		ts.Check(err)
		if app.Name != renamed {
			ts.Fatalf("the app is called %s", app.Name)
		}
	}
	for invite, err := range o.AllInvites(ctx, client.InviteFilter{}) {
		ts.Check(err)
		if invite.IsExpired || time.Since(invite.CreatedAt) > patience {
			ts.Fatalf("invite %+v", invite)
		}
		if invite.TargetEmail == "banner@example.com" {
			ts.Check(o.DeleteInvite(ctx, invite.ID))
		}
	}
}
