package plugin

import (
	"context"
	"slices"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// Delete removes a plugin of the caller's organization.
func (s Service) Delete(ctx context.Context, c access.Caller, id int64) error {
	if err := MayManage(c); err != nil {
		return err
	}
	defer s.Bundles.Invalidate()
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.erase(ctx, tx, c, id) })
}

// erase removes a plugin with its versions, but leaves their contents to Tidy.
func (s Service) erase(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
	p, c, err := s.lockOwnMatching(ctx, tx, c, id)
	if err != nil {
		return err
	}
	if err := remove(ctx, tx, p.OrganizationID, p.ID); err != nil {
		return err
	}
	count(tx, p, -1, -one(p.IsGlobal))
	if err := s.follow(ctx, tx, c, p.ID); err != nil {
		return err
	}
	return s.record(ctx, tx, c, p, activity.Uninstalled, []activity.Change{activity.Changed("plugin_type", p.Type, nil)})
}

// Tidy removes the texts of files and bundles that no version uses any more, a few in each transaction: SQLite takes
// long to overwrite a large one, and others have their turns in between.
func (s Service) Tidy(ctx context.Context) error {
	for after, more := "", true; more; {
		unused, err := unusedContents(ctx, s.DB, after)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(unused, 10) {
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return removeUnused(ctx, tx, some) })
			if err != nil {
				return err
			}
			after = some[len(some)-1]
		}
		more = len(unused) > 0
	}
	return nil
}

// LockAll locks all apps of an organization that is about to be erased. No app is shared meanwhile: otherwise another
// organization could place one after its own sites were updated, and their pages would go on asking for it.
func LockAll(ctx context.Context, tx *db.Tx, organizationID string) error {
	LockSharing(tx, organizationID)
	return db.Exec(ctx, tx, `SELECT 1 FROM plugins WHERE organization_id = $1 ORDER BY id FOR UPDATE`, organizationID)
}

// EraseOrganization removes the apps of an organization, but leaves their contents to Tidy. The caller has locked them
// already and has updated the sites of other organizations that ran them.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	s.Follow = nil
	if err := db.Exec(ctx, tx, `SELECT 1 FROM organizations WHERE id = $1 FOR UPDATE`, organizationID); err != nil { // no app is added meanwhile
		return err
	}
	ids, err := db.All[int64](ctx, tx, nil, `SELECT id FROM plugins WHERE organization_id = $1 ORDER BY id`, organizationID)
	if err != nil {
		return err
	}
	c := access.Caller{Organization: access.Organization{ID: organizationID}}
	for _, id := range ids {
		if err := s.erase(ctx, tx, c, id); err != nil {
			return err
		}
	}
	return nil
}
