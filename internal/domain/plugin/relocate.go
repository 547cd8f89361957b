package plugin

import (
	"cmp"
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/upstream"
)

// location is the new url of an installed plugin's repository.
type location struct {
	url, key, credentials string // as they are stored
}

// set moves a plugin there, and lists the changes that its fields do not show.
func (to *location) set(p *Plugin, o *origin) (beside []activity.Change) {
	if o.Credentials != to.credentials {
		beside = []activity.Change{credentialsChanged}
	}
	p.URL, o.URLKey, o.Credentials = to.url, to.key, to.credentials
	return beside
}

// Update changes the fields that the draft names. For an installed plugin, another tag is an upgrade to it, so that its
// tag is always the one that is served; for a custom one, another url is the new place of its repository.
func (s Service) Update(ctx context.Context, c access.Caller, id int64, d Draft) (Plugin, error) {
	m := Move{Draft: d}
	if !m.Tag.Set && !m.URL.Set {
		if err := cmp.Or(MayManage(c), m.check()); err != nil {
			return Plugin{}, err
		}
		return s.change(ctx, c, id, m.Draft, activity.Updated)
	}
	p, o, err := s.toMove(ctx, c, id, &m)
	if err != nil {
		return Plugin{}, err
	}
	m.stays = !m.Tag.Set || m.Tag.Value == p.Tag
	relocated := m.URL.Set && m.URL.Value != p.URL && p.Type == Custom && !s.comesFrom(p, o, m.URL.Value)
	if o.URLKey != "" && m.stays {
		m.Tag = patch.Field[string]{} // and the tag is not set back if it changes meanwhile
	}
	if o.URLKey == "" || m.stays && !relocated {
		return s.change(ctx, c, id, m.Draft, activity.Updated)
	}
	return s.moveBy(ctx, c, p, o, m, relocated)
}

// comesFrom reports whether a url, with its credentials, is the one stored for an installed plugin.
func (s Service) comesFrom(p Plugin, o origin, url string) bool {
	given, err := upstream.Parse(url)
	if err != nil {
		return false
	}
	stored, err := upstream.Unseal(s.Box, p.URL, o.Credentials)
	return err == nil && given.Equal(stored)
}

// moveBy moves an installed plugin to the tag of a draft, to its url, or both.
func (s Service) moveBy(ctx context.Context, c access.Caller, p Plugin, o origin, m Move, relocated bool) (Plugin, error) {
	if !m.stays && m.Tag.Value == "" {
		return Plugin{}, fault.Field(fault.Invalid, "tag", "Must be a version of the app's repository: an installed app always has one.")
	}
	if m.URL.Fault != nil {
		return Plugin{}, m.URL.Fault
	}
	if err := m.mayBecome(c, p); err != nil {
		return Plugin{}, err
	}
	var latest latestTag
	if relocated {
		var err error
		if latest, err = s.relocate(ctx, &p, &o, m.URL.Value); err != nil {
			return Plugin{}, err
		}
		m.location = &location{p.URL, o.URLKey, o.Credentials}
	}
	return s.moveFrom(ctx, c, p, o, m, latest)
}

// relocate makes p and o name another repository, which must answer and have a version. It stores nothing.
func (s Service) relocate(ctx context.Context, p *Plugin, o *origin, url string) (latestTag, error) {
	remote, err := s.remote(ctx, p, url)
	if err != nil {
		return latestTag{}, err
	}
	if remote.Key() != o.URLKey {
		if err := s.notInstalled(ctx, p.OrganizationID, remote); err != nil {
			return latestTag{}, err
		}
	}
	if o.Credentials, err = remote.Seal(s.Box); err != nil {
		return latestTag{}, err
	}
	p.URL, o.URLKey = remote.URL, remote.Key()
	leave, err := s.Installs.Enter(ctx, p.OrganizationID)
	if err != nil {
		return latestTag{}, err
	}
	defer leave()
	repo, err := s.Upstream.Open(ctx, remote)
	if err != nil {
		return latestTag{}, err
	}
	return latestOf(repo)
}
