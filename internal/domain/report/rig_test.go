package report

import (
	"context"
	"testing"

	"foyer/internal/base/cache"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// app is the id of an app; that it does not exist is of no importance here.
const app = 7

// rig is Counts on an empty database.
type rig struct {
	*Counts
	testing.TB
}

func each(t *testing.T, test func(r rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(rig{NewCounts(d), t}) })
}

// site makes a site in an organization of its own.
func (r rig) site(name string) Site {
	r.Helper()
	s := Site{OrganizationID: name}
	err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		err = db.Exec(ctx, tx, `
			INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
			VALUES ($1, $1, 9, TRUE, FALSE, '', $2)`, name, r.DB.Now())
		if err != nil {
			return err
		}
		s.ID, err = db.Insert(ctx, tx, `
			INSERT INTO sites (organization_id, name, token, enabled, is_demo, origins, revision, stamp, apps, created_at, updated_at)
			VALUES ($1, $1, $1, TRUE, FALSE, '[]', 1, $2, '[]', $3, $3)`, name, cache.VersionStep(), r.DB.Now())
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return s
}
