package event

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/infra/db"
)

// elsewhere returns the rig's user as the admin of another organization.
func (r rig) elsewhere() rig {
	r.Helper()
	r.caller.Organization.ID = "01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a12"
	err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(
			db.Exec(ctx, tx, `
				INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
				SELECT CAST($1 AS TEXT), name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at FROM organizations`,
				r.caller.Organization.ID),
			db.Exec(ctx, tx, `
				INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at)
				SELECT CAST($1 AS TEXT), user_id, level, joined_at, updated_at FROM memberships`, r.caller.Organization.ID))
	})
	if err != nil {
		r.Fatal(err)
	}
	return r
}

// What is done to a webhook leaves others and their deliveries as they are. Nobody reaches a webhook from another
// organization, or a delivery from another webhook.
func TestOthersStay(t *testing.T) {
	each(t, func(r rig) {
		ctx, theirs, to := r.Context(), r.elsewhere(), r.receiver()
		sibling, w, foreign := r.webhook(to.URL, "app.*"), r.webhook(to.URL, "app.*"), theirs.webhook(to.URL, "app.*")
		round := func() {
			r.Helper()
			if _, err := theirs.SendTest(ctx, theirs.caller, foreign.ID); err != nil {
				r.Fatal(err)
			}
			r.happen(1)
			r.send(r.Service)
		}
		round()
		to.answerWith(http.StatusServiceUnavailable)
		round()
		others := func() string {
			r.Helper()
			a, errA := r.Get(ctx, r.caller, sibling.ID)
			b, errB := theirs.Get(ctx, theirs.caller, foreign.ID)
			return fmt.Sprintf("%+v %v %+v %v %+v %+v", a, errA, b, errB, r.deliveries(sibling.ID), r.deliveries(foreign.ID))
		}
		before := others()
		step := func(what string, got, want error) {
			r.Helper()
			if (got == nil) != (want == nil) || want != nil && !fault.Is(got, fault.NotFound) {
				r.Errorf("%s: %v", what, got)
			}
			if after := others(); after != before {
				r.Errorf("%s: others are\n%s, and were\n%s", what, after, before)
			}
		}
		second := func(_ any, err error) error { return err }
		missing := fault.New(fault.NotFound, "")

		for _, d := range append(r.deliveries(sibling.ID), r.deliveries(foreign.ID)...) {
			step("redelivered what is another's", second(r.Redeliver(ctx, r.caller, w.ID, d.ID)), missing)
		}
		step("changed from elsewhere", second(theirs.Update(ctx, theirs.caller, w.ID, Draft{Description: patch.Of("x")})), missing)
		step("deleted from elsewhere", theirs.Delete(ctx, theirs.caller, w.ID), missing)
		step("listed from elsewhere", second(theirs.Deliveries(ctx, theirs.caller, w.ID, page.First)), missing)
		if found, err := r.List(ctx, r.caller, page.First); err != nil || found.Count != 2 || len(found.Items) != 2 {
			r.Errorf("%+v, %v", found, err)
		}
		found, err := r.Deliveries(ctx, r.caller, w.ID, page.First)
		if d := found.Items; err != nil || found.Count != 2 || len(d) != 2 || d[0].WebhookID != w.ID || d[0].State != Pending || d[1].State != Delivered {
			r.Errorf("%+v, %v", found, err)
		}
		step("changed", second(r.Update(ctx, r.caller, w.ID, Draft{Description: patch.Of("x")})), nil)
		step("rotated", second(r.Rotate(ctx, r.caller, w.ID)), nil)
		step("switched off", second(r.Update(ctx, r.caller, w.ID, Draft{Enabled: patch.Of(false)})), nil)
		if d := r.deliveries(w.ID); d[0].State != Delivered || d[1].State != Failed {
			r.Errorf("%+v", d)
		}
		step("deleted", r.Delete(ctx, r.caller, w.ID), nil)
	})
}

// An event that is due again goes to the receiver of its own webhook, and to no other.
func TestRetriedWhereItFailed(t *testing.T) {
	each(t, func(r rig) {
		failing, fine := r.receiver(), r.receiver()
		failing.answerWith(http.StatusServiceUnavailable)
		w := r.webhook(failing.URL, "app.*")
		r.webhook(fine.URL, "app.*")
		for range 2 {
			r.happen(1)
			r.send(r.Service)
			r.pass(time.Minute)
		}
		if n := len(fine.seen()); n != 2 {
			r.Errorf("%d came", n)
		}
		if d := r.deliveries(w.ID); len(d) != 2 || d[0].State != Pending || d[0].Attempts != 2 || d[1].Attempts != 1 {
			r.Errorf("%+v", d)
		}
	})
}
