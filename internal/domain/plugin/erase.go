package plugin

import (
	"context"
	"errors"

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
	erase := func(ctx context.Context, tx *db.Tx) error { return s.erase(ctx, tx, c, id) }
	err := s.DB.InTx(ctx, erase)
	if errors.Is(err, errRaced) {
		err = s.DB.InTx(ctx, erase) // it has source now, and will keep having it
	}
	return err
}

// erase removes a plugin. It returns errRaced if the plugin's first source was saved meanwhile.
func (s Service) erase(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
	hasSource, err := lockContentsOf(ctx, tx, c, id)
	if err != nil {
		return err
	}
	p, c, err := s.lockOwnMatching(ctx, tx, c, id)
	if err != nil {
		return err
	}
	if o, err := originOf(ctx, tx, p.OrganizationID, p.ID); err != nil {
		return err
	} else if o.Current != 0 && !hasSource {
		return errRaced // it is too late to lock the contents, see lockContents
	}
	var used []string
	if hasSource {
		if used, err = listContents(ctx, tx, `plugin_id`, p.ID); err != nil {
			return err
		}
	}
	if err := remove(ctx, tx, p.OrganizationID, p.ID); err != nil { // with its versions
		return err
	}
	if err := removeUnused(ctx, tx, used); err != nil {
		return err
	}
	count(tx, p, -1, -one(p.IsGlobal))
	if err := s.follow(ctx, tx, c, p.ID); err != nil {
		return err
	}
	return s.record(ctx, tx, c, p, activity.Uninstalled, []activity.Change{activity.Changed("plugin_type", p.Type, nil)})
}

// LockAll locks all apps of an organization that is about to be erased.
func LockAll(ctx context.Context, tx *db.Tx, organizationID string) error {
	if err := lockContents(ctx, tx); err != nil {
		return err
	}
	return db.Exec(ctx, tx, `SELECT 1 FROM plugins WHERE organization_id = $1 ORDER BY id FOR UPDATE`, organizationID)
}

// EraseOrganization removes the apps of an organization. The caller has locked them already and has updated the sites
// of other organizations that ran them.
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
