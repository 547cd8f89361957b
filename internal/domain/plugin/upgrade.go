package plugin

import (
	"cmp"
	"context"
	"errors"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

// Move says which version an upgrade goes to. If neither its draft has a tag nor it has a version, that is the newest.
type Move struct {
	Draft

	Version       patch.Field[string] // number of a stored version; wins over the tag
	AcceptChanged patch.Field[bool]   // a tag may lead to another commit than before
	Commit        patch.Field[string] // reviewed by the caller: the upgrade goes to no other commit

	stays    bool      // the plugin stays at its version
	location *location // nil: the plugin's repository has not moved
}

func (m *Move) check() error {
	var wrong fault.List
	wrong.Add(m.checkAlone())
	wrong.Add(m.AcceptChanged.Check("accept_changed"))
	wrong.Add(m.Commit.Fault)
	wrong.Add(m.Version.Fault)
	if patch.ID(m.Version.Or("1")) == 0 {
		wrong.Add(fault.Field(fault.Invalid, "version", "Must be the number of a version."))
	}
	return wrong.Err()
}

// field returns the name of the field that says where an upgrade goes to.
func (m *Move) field() string {
	if m.Version.Value != "" {
		return "version"
	}
	return "tag"
}

// confirm fails if the upgrade goes to another commit than the reviewed one; "": the version was saved here.
func (m *Move) confirm(commit string) error {
	if m.Commit.Set && m.Commit.Value != commit {
		return fault.Field(fault.ContentChanged, "commit", "The upgrade leads to another commit than the one reviewed: review it again.")
	}
	return nil
}

// target is the version that an upgrade goes to: a stored one, or one that was fetched and is yet to be stored. The zero
// target is that of a move that stays.
type target struct {
	stored   Version            // zero: it was fetched
	fetched  *fetched           // nil: it is stored
	manifest *upstream.Manifest // nil: a stored one has none
}

func (to target) commit() string {
	if to.fetched != nil {
		return to.fetched.commit
	}
	return to.stored.Commit
}

// Upgrade moves a plugin to another version, possibly an older one. It uses a stored version as it is. If the plugin
// has no upstream, it only sets the fields, such as the tag.
func (s Service) Upgrade(ctx context.Context, c access.Caller, id int64, m Move) (Plugin, error) {
	p, o, err := s.toMove(ctx, c, id, &m)
	if err != nil {
		return Plugin{}, err
	}
	if o.URLKey == "" && m.Version.Value == "" {
		if err := m.confirm(""); err != nil {
			return Plugin{}, err
		}
		return s.change(ctx, c, id, m.Draft, activity.Upgraded)
	}
	if err := m.mayBecome(c, p); err != nil {
		return Plugin{}, err
	}
	return s.moveFrom(ctx, c, p, o, m, latestTag{})
}

// toMove checks a move, and returns the plugin that a caller wants to move, and where it comes from.
func (s Service) toMove(ctx context.Context, c access.Caller, id int64, m *Move) (Plugin, origin, error) {
	if err := cmp.Or(MayManage(c), m.check()); err != nil {
		return Plugin{}, origin{}, err
	}
	p, err := s.Own(ctx, c, id)
	if err != nil {
		return Plugin{}, origin{}, err
	}
	o, err := originOf(ctx, s.DB, p.OrganizationID, p.ID)
	return p, o, err
}

// moveFrom finds the version that m names, at the origin o, and moves the plugin to it. latest is what the upstream has
// already answered.
func (s Service) moveFrom(ctx context.Context, c access.Caller, p Plugin, o origin, m Move, latest latestTag) (Plugin, error) {
	var to target
	if !m.stays {
		found, asked, err := s.findTarget(ctx, p, o, m)
		if err == nil {
			err = m.confirm(found.commit())
		}
		if err != nil {
			return Plugin{}, err
		}
		if to = found; asked.at.After(latest.at) {
			latest = asked
		}
	}
	defer s.Bundles.Invalidate()
	var moved Plugin
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		moved, err = s.move(ctx, tx, c, p, m, to, latest)
		return err
	})
	if errors.Is(err, db.ErrUnique) {
		return Plugin{}, errInstalled
	}
	return moved, err
}

// findTarget finds the version to go to, without changing anything. A number names a stored version. A stored tag that
// is not the plugin's own is used without asking the upstream. Otherwise the upstream is asked; if that fails with any
// fault but ContentChanged, a stored tag is used as it is. With AcceptChanged, no tag counts as stored.
func (s Service) findTarget(ctx context.Context, p Plugin, o origin, m Move) (to target, latest latestTag, err error) {
	if m.Version.Value != "" {
		named, err := namedVersion(ctx, s.DB, p.ID, patch.ID(m.Version.Value))
		if err == nil {
			to, err = storedTarget(ctx, s.DB, named)
		}
		return to, latestTag{}, err
	}
	tag := m.Tag.Value
	stored, err := findInstalled(ctx, s.DB, p.ID, tag)
	if err != nil {
		return target{}, latestTag{}, err
	}
	known := stored.Number != 0 && !m.AcceptChanged.Value
	if known && tag != p.Tag {
		to, err = storedTarget(ctx, s.DB, stored)
		return to, latestTag{}, err
	}
	to, latest, err = s.ask(ctx, p, o, m)
	if known && err != nil && !fault.Is(err, fault.ContentChanged) {
		to, err = storedTarget(ctx, s.DB, stored) // the tag may have moved, but the stored version is known
	}
	return to, latest, err
}

// ErrNoVersion refuses the number of a version that an app does not have.
var ErrNoVersion = fault.Field(fault.Invalid, "version", "The app has no such version, or it is no longer kept.")

// namedVersion returns the version that a request names, or ErrNoVersion.
func namedVersion(ctx context.Context, q db.Querier, pluginID, number int64) (Version, error) {
	v, err := findVersion(ctx, q, pluginID, number)
	if errors.Is(err, db.ErrNoRow) {
		err = ErrNoVersion
	}
	return v, err
}

// storedTarget returns a stored version as a target; a saved one may lack a manifest.
func storedTarget(ctx context.Context, q db.Querier, v Version) (target, error) {
	to := target{stored: v}
	text, err := findManifest(ctx, q, v.id)
	if errors.Is(err, db.ErrNoRow) {
		return to, nil
	}
	if err != nil {
		return target{}, err
	}
	m, err := source.ReadManifest(text, "version")
	to.manifest = &m
	return to, err
}

// ask asks the upstream for the tag, or for the newest one, and fetches it unless it is stored. It returns what the
// upstream answered even with an error.
func (s Service) ask(ctx context.Context, p Plugin, o origin, m Move) (to target, latest latestTag, err error) {
	remote, err := upstream.Unseal(s.Box, p.URL, o.Credentials)
	if err != nil {
		return target{}, latestTag{}, err
	}
	leave, err := s.Installs.Enter(ctx, p.OrganizationID)
	if err != nil {
		return target{}, latestTag{}, err
	}
	defer leave()
	repo, err := s.Upstream.Open(ctx, remote)
	if err != nil {
		return target{}, latestTag{}, err
	}
	latest, _ = latestOf(repo) // without a version there is none
	v, err := repo.Resolve(m.Tag.Value)
	if err != nil {
		return target{}, latest, err
	}
	stored, err := recognize(ctx, s.DB, p.ID, v.Tag, v.Commit, m.AcceptChanged.Value)
	if err != nil {
		return target{}, latest, err
	}
	if stored.Number != 0 {
		to, err = storedTarget(ctx, s.DB, stored)
		return to, latest, err
	}
	f, err := s.fetch(ctx, p.OrganizationID, repo, v)
	return target{fetched: &f, manifest: &f.manifest}, latest, err
}

// recognize returns the version that was installed from a commit, or zero if the tag is yet to be installed from it.
func recognize(ctx context.Context, q db.Querier, pluginID int64, tag, commit string, acceptChanged bool) (Version, error) {
	stored, err := findInstalled(ctx, q, pluginID, tag)
	switch {
	case err != nil:
		return Version{}, err
	case stored.Commit == commit:
		return stored, nil
	case stored.Number != 0 && !acceptChanged:
		return Version{}, fault.Field(fault.ContentChanged, "tag",
			"The tag %s was moved upstream since it was installed: from commit %.12s to %.12s. To install the new commit, send \"accept_changed\": true.",
			tag, stored.Commit, commit)
	}
	return Version{}, nil
}

// reuse replaces a fetched version by the stored one if another upgrade has stored the same commit meanwhile.
func (to target) reuse(ctx context.Context, tx *db.Tx, pluginID int64, acceptChanged bool) (target, error) {
	if to.fetched == nil {
		return to, nil
	}
	stored, err := recognize(ctx, tx, pluginID, to.fetched.tag, to.fetched.commit, acceptChanged)
	if err != nil || stored.Number == 0 {
		return to, err
	}
	return storedTarget(ctx, tx, stored)
}

var errMoved = fault.Later(fault.Busy, time.Second, "The url of the app has changed meanwhile; try again.")

// move moves a plugin to the target in one transaction; asked is the plugin as it was when its upstream was asked. It
// fails if the plugin no longer comes from the url that was asked, unless the move changes the url.
func (s Service) move(ctx context.Context, tx *db.Tx, c access.Caller, asked Plugin, m Move, to target, latest latestTag) (Plugin, error) {
	p, c, err := s.lockOwnAfterWait(ctx, tx, c, asked.ID, m.Draft)
	if err == nil && m.location == nil && p.URL != asked.URL {
		err = errMoved
	}
	if err != nil {
		return Plugin{}, err
	}
	o, from, err := originAndVersion(ctx, tx, p)
	if err != nil {
		return Plugin{}, err
	}
	if to, err = to.reuse(ctx, tx, p.ID, m.AcceptChanged.Value); err != nil {
		return Plugin{}, err
	}
	before := p
	p.leave(to)
	if p, err = m.changed(p); err != nil {
		return Plugin{}, err
	}
	var beside []activity.Change
	if m.location != nil {
		beside = m.location.set(&p, &o)
	}
	if latest.at.After(s.checkedAt(o)) || m.location != nil { // if the repository stays, a later check may have found more
		p.LatestTag, o.CheckedAt = latest.tag, latest.at
	}
	reached, err := s.makeCurrent(ctx, tx, c, &p, &o, from, to, m)
	if err != nil {
		return Plugin{}, err
	}
	verb := activity.Upgraded
	if m.stays {
		verb = activity.Updated
	}
	if reached.Number != from.Number {
		beside = append(beside, changedSource(from, reached))
	}
	err = s.save(ctx, tx, c, before, &p, verb, beside...)
	return p, err
}

// leave clears the fields of p that the version it leaves has set and the target's manifest sets.
func (p *Plugin) leave(to target) {
	if to.manifest != nil {
		p.ConfigSchema, p.PublicJobs = "", ""
	}
}

// makeCurrent makes the target the current version of p, and sets the fields that it describes. A stored version also
// sets its config_schema, unless its manifest has none and the move sets one, or its manifest has one but its bundle is
// an earlier version's.
func (s Service) makeCurrent(ctx context.Context, tx *db.Tx, c access.Caller, p *Plugin, o *origin, from Version, to target, m Move) (v Version, err error) {
	if m.stays {
		if err := updateOrigin(ctx, tx, *o); err != nil {
			return Version{}, err
		}
		return s.keepSchema(ctx, tx, c, o, from, *p, "")
	}
	if to.manifest != nil {
		describe(p, *to.manifest)
	}
	if f := to.fetched; f != nil {
		v = f.version()
		v.Schema = p.ConfigSchema
		v, err = s.add(ctx, tx, c, o, from, v, f.build)
		p.Tag = v.Tag
		return v, err
	}
	if v, err = goTo(ctx, tx, o, to.stored.Number, m.field()); err != nil {
		return Version{}, err
	}
	p.Tag = v.Tag
	keeps, err := keepsBundle(ctx, tx, v)
	if err != nil {
		return Version{}, err
	}
	if says := to.manifest != nil && len(to.manifest.Config) > 0; says && !keeps || !says && !m.ConfigSchema.Set {
		p.ConfigSchema = v.Schema
	}
	return s.keepSchema(ctx, tx, c, o, v, *p, "")
}

// goTo makes a stored version, which the given field of the request names, the current one.
func goTo(ctx context.Context, tx *db.Tx, o *origin, number int64, field string) (Version, error) {
	v, err := namedVersion(ctx, tx, o.PluginID, number) // it may be pruned by now
	if err != nil {
		return Version{}, err
	}
	if err := v.refuseWithdrawn(field); err != nil {
		return Version{}, err
	}
	o.Current = v.Number
	return v, updateOrigin(ctx, tx, *o)
}
