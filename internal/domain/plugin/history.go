package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Versions returns a page of a plugin's versions, newest first and without their config_schema. Only the plugin's own
// organization sees who made the versions of a global plugin.
func (s Service) Versions(ctx context.Context, c access.Caller, id int64, p page.Page) (found page.Found[Version], err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		plugin, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		found, err = queries.Page(ctx, q, p, sees.count,
			func(ctx context.Context, q db.Querier) ([]Version, error) { return sees.list(ctx, q, p) })
		if plugin.OrganizationID != c.Organization.ID {
			for i := range found.Items {
				found.Items[i].anonymize()
			}
		}
		return err
	})
	return found, err
}

// Version returns one version of a plugin: one that Versions lists, or one that the caller's sites have.
func (s Service) Version(ctx context.Context, c access.Caller, id, number int64) (found Version, err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		plugin, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		found, err = sees.findForSites(ctx, q, c.Organization.ID, number)
		if plugin.OrganizationID != c.Organization.ID {
			found.anonymize()
		}
		return access.OrNotFound(err)
	})
	return found, err
}

// anonymize removes what only the plugin's own organization may see of a version.
func (v *Version) anonymize() {
	v.CreatedBy, v.Withdrawn.By, v.Message = org.User{}, org.User{}, ""
}

// versionsSeen returns a plugin and which of its versions the caller sees: all or, if the plugin is another
// organization's, the current one and those made since it was shared.
func (s Service) versionsSeen(ctx context.Context, q db.Querier, c access.Caller, id int64) (Plugin, seen, error) {
	p, err := s.get(ctx, q, c, id)
	if err != nil {
		return Plugin{}, seen{}, err
	}
	o, err := originOf(ctx, q, p.OrganizationID, p.ID)
	from := p.SharedFrom
	if p.OrganizationID == c.Organization.ID {
		from = 0
	}
	return p, seen{p.ID, o.Current, from}, err
}

var errNotAgainst = fault.Field(fault.Invalid, "against", "The app has no such version, or it is no longer kept.")

// Diff compares a version with another, file by file. If against is 0, that is the version before it. Files that are
// the same are left out.
func (s Service) Diff(ctx context.Context, c access.Caller, id, number, against int64) ([]source.Diff, error) {
	leave, err := s.Diffs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	var before, after map[string]string
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		_, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		to, err := sees.find(ctx, q, number)
		if err != nil {
			return access.OrNotFound(err)
		}
		from, err := sees.base(ctx, q, number, against)
		if err != nil {
			return err
		}
		if before, err = texts(ctx, q, from); err != nil {
			return err
		}
		after, err = texts(ctx, q, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return source.Compare(ctx, before, after)
}

// Compare lists the differences between two sets of files, by name.
func (s Service) Compare(ctx context.Context, c access.Caller, before, after map[string]string) ([]source.Diff, error) {
	leave, err := s.Diffs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	return source.Compare(ctx, before, after)
}

// base returns the version to compare with. For the first version it is zero: all files are new.
func (s seen) base(ctx context.Context, q db.Querier, number, against int64) (Version, error) {
	if against != 0 {
		v, err := s.find(ctx, q, against)
		if errors.Is(err, db.ErrNoRow) {
			return Version{}, errNotAgainst
		}
		return v, err
	}
	v, err := s.before(ctx, q, number)
	if errors.Is(err, db.ErrNoRow) {
		return Version{}, nil
	}
	return v, err
}

func texts(ctx context.Context, q db.Querier, v Version) (map[string]string, error) {
	files, err := listFiles(ctx, q, v.id)
	return source.Texts(files), err
}

// TypeOfDeleted is the type that a plugin had when it was deleted; Local if that is unknown.
func (s Service) TypeOfDeleted(ctx context.Context, c access.Caller, id int64) (Type, error) {
	if err := MayRead(c); err != nil {
		return Local, err
	}
	last, err := activity.Last(ctx, s.DB, activity.Filter{
		OrganizationID: c.Organization.ID, Scopes: []activity.Scope{activity.Plugin}, ItemID: strconv.FormatInt(id, 10),
	})
	if errors.Is(err, db.ErrNoRow) {
		return Local, nil
	}
	if err != nil {
		return Local, err
	}
	var changes []struct {
		Field  string `json:"field"`
		Before Type   `json:"before"`
	}
	_ = json.Unmarshal([]byte(last.Changes), &changes) // other JSON names no type
	for _, change := range changes {
		if change.Field == "plugin_type" {
			return change.Before, nil
		}
	}
	return Local, nil
}
