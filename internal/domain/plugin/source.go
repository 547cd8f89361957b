package plugin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

// Sources is a plugin with its files.
type Sources struct {
	Plugin

	Files       []source.File // by name
	Bundle      Bundle
	PublicToken string // in the url of the bundle
	Disabled    Off

	number int64 // of the current version, 0 if there is none
}

// Source returns a plugin with its files.
func (s Service) Source(ctx context.Context, c access.Caller, id int64) (Sources, error) {
	found, err := s.sourceOf(ctx, func(ctx context.Context, q db.Querier) (Plugin, error) { return s.get(ctx, q, c, id) })
	if found.OrganizationID != c.Organization.ID {
		found.Disabled.By = org.User{}
	}
	return found, err
}

// sourceOf returns the plugin that find finds, and its files, all read at one moment.
func (s Service) sourceOf(ctx context.Context, find func(context.Context, db.Querier) (Plugin, error)) (found Sources, err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		p, err := find(ctx, q)
		if err != nil {
			return err
		}
		o, v, err := originAndVersion(ctx, q, p)
		if err != nil {
			return err
		}
		disabled, err := findDisabled(ctx, q, p.OrganizationID, p.ID)
		if err != nil {
			return err
		}
		files, err := listFiles(ctx, q, v.id)
		found = Sources{Plugin: p, Files: files, Bundle: v.Bundle, PublicToken: o.PublicToken, Disabled: disabled, number: v.Number}
		return err
	})
	slices.SortFunc(found.Files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// errRaced means that a plugin's source was changed meanwhile, by another server or by something other than a save.
var errRaced = errors.New("the source has changed meanwhile")

// maxRaces is how often a change of source is tried before it gives up.
const maxRaces = 20

// UpdateSource makes edits to a plugin's files, compiles them, and sets the fields
// that the draft names.
func (s Service) UpdateSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []source.Edit) (Sources, error) {
	if err := MayManage(c); err != nil {
		return Sources{}, err
	}
	if err := source.TooMany(edits); err != nil {
		return Sources{}, err
	}
	var wrong fault.List
	wrong.Add(d.checkAlone())
	wrong.Add(patch.Text("message", d.Message, maxMessage))
	wrong.Add(source.Faults(edits).Err())
	if err := wrong.Err(); err != nil {
		return Sources{}, err
	}
	leave, err := s.Saves.Enter(ctx, c.Organization.ID+" "+strconv.FormatInt(id, 10))
	if err != nil {
		return Sources{}, err
	}
	defer leave()
	for range maxRaces {
		saved, err := s.editSource(ctx, c, id, d, edits)
		if !errors.Is(err, errRaced) {
			return saved, err
		}
	}
	return Sources{}, fault.Later(fault.Busy, time.Second, "Others are changing the source of this app; try again.")
}

// editSource compiles outside the transaction, which then checks that the files are still the ones that were edited.
func (s Service) editSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []source.Edit) (saved Sources, err error) {
	before, err := s.sourceOf(ctx, func(ctx context.Context, q db.Querier) (Plugin, error) { return s.findOwnMatching(ctx, q, c, id, "") })
	if err != nil {
		return Sources{}, err
	}
	if err := describeEdited(&d, before.Files, edits); err != nil {
		return Sources{}, err
	}
	texts, err := source.Apply(before.Files, edits)
	if err != nil {
		return Sources{}, err
	}
	var made *build // nil: no file has changed
	if !maps.Equal(source.Texts(before.Files), texts) {
		b, err := s.compile(ctx, before.OrganizationID, texts)
		if err != nil {
			return Sources{}, err
		}
		made = &b
	}
	defer s.Bundles.Invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		saved, err = s.saveSource(ctx, tx, c, before, d, made)
		return err
	})
	return saved, err
}

// readSource checks the first files of a plugin of a type, and sets the fields that a plugin.json among them names.
func (d *Draft) readSource(kind Type) error {
	if len(d.Source) > 0 && kind.Installed() {
		return fault.Field(fault.Invalid, d.Source[0].Field, "The files of an installed app come from its repository: leave them out.")
	}
	if err := source.Faults(d.Source).Err(); err != nil {
		return err
	}
	return describeEdited(d, nil, d.Source)
}

// createWithSource stores a new plugin with its first files, all or nothing.
func (s Service) createWithSource(ctx context.Context, c access.Caller, p Plugin, d Draft) (Plugin, error) {
	texts, err := source.Apply(nil, d.Source)
	if err != nil {
		return Plugin{}, err
	}
	b, err := s.compile(ctx, p.OrganizationID, texts)
	if err != nil {
		return Plugin{}, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.insertWith(ctx, tx, c, &p, origin{OrganizationID: p.OrganizationID}, Version{Tag: p.Tag, Message: d.Message.Value}, b)
	})
	return p, err
}

// describe sets the fields of a plugin that the manifest of a version names, and keeps the others.
func describe(p *Plugin, m upstream.Manifest) {
	p.Name, p.Description, p.Icon = cmp.Or(m.Name, p.Name), cmp.Or(m.Description, p.Description), cmp.Or(m.Icon, p.Icon)
	p.ConfigSchema, p.PublicJobs = cmp.Or(string(m.Config), p.ConfigSchema), cmp.Or(string(m.PublicJobs), p.PublicJobs)
}

// describeEdited sets the name and config schema that a plugin.json among edits names. An unchanged plugin.json sets
// nothing: a client that sends back all files as it read them must not undo later changes of these fields.
func describeEdited(d *Draft, before []source.File, edits []source.Edit) error {
	e, ok := source.ManifestEdit(edits)
	if !ok || slices.ContainsFunc(before, func(f source.File) bool { return f.Name == source.ManifestName && f.Text == e.Text.Value }) {
		return nil
	}
	m, err := source.ReadManifest(e.Text.Value, e.Field)
	if err != nil {
		return err
	}
	if m.Name != "" && d.Name.Fault == nil {
		d.Name = patch.Of(m.Name)
	}
	if d.ConfigSchema.Fault == nil {
		d.ConfigSchema = patch.Of(string(m.Config))
	}
	return nil
}

var errTagOfInstalled = fault.Field(fault.Invalid, "tag", "The tag of an installed app decides which files it has: change it with upgrade, or PATCH of the app.")

// unchanged locks the plugin whose source was read. It fails if the source has changed or the caller may no longer
// change the plugin. It reads again whether the plugin is disabled, and by whom.
func (s Service) unchanged(ctx context.Context, tx *db.Tx, c access.Caller, read *Sources, d Draft) (Plugin, origin, access.Caller, error) {
	before, c, err := s.lockOwnAfterWait(ctx, tx, c, read.ID, d)
	if err != nil {
		return Plugin{}, origin{}, c, err
	}
	o, err := originOf(ctx, tx, before.OrganizationID, before.ID)
	if err == nil && o.Current != read.number {
		err = errRaced
	}
	if err == nil && (read.Disabled.Is() || before.Revision != read.Revision) {
		read.Disabled, err = findDisabledHeld(ctx, tx, before.OrganizationID, before.ID)
	}
	return before, o, c, err
}

// saveSource returns what it wrote; reading it afterwards could return the next change.
func (s Service) saveSource(ctx context.Context, tx *db.Tx, c access.Caller, read Sources, d Draft, made *build) (Sources, error) {
	before, o, c, err := s.unchanged(ctx, tx, c, &read, d)
	if err != nil {
		return Sources{}, err
	}
	current, err := currentVersion(ctx, tx, o)
	if err != nil {
		return Sources{}, err
	}
	if o.URLKey != "" && d.Tag.Set && d.Tag.Value != before.Tag {
		return Sources{}, errTagOfInstalled
	}
	p, err := d.changed(before)
	if err != nil {
		return Sources{}, err
	}
	saved := read
	var beside []activity.Change
	if made != nil {
		v, err := s.add(ctx, tx, c, &o, current, Version{Tag: p.Tag, Schema: p.ConfigSchema, Message: d.Message.Value}, *made)
		if err == nil {
			err = prune(ctx, tx, p.ID)
		}
		if err != nil {
			return Sources{}, err
		}
		saved.Files, saved.Bundle = made.files, v.Bundle
		if !dryrun.Is(ctx) { // the token may be new
			saved.PublicToken = o.PublicToken
		}
		beside = []activity.Change{activity.Changed("source", current.SHA256, v.SHA256)}
	} else if _, err := s.keepSchema(ctx, tx, c, &o, current, p, d.Message.Value); err != nil {
		return Sources{}, err
	}
	if err := s.save(ctx, tx, c, before, &p, activity.SourceUpdated, beside...); err != nil {
		return Sources{}, err
	}
	saved.Plugin = p
	return saved, access.KeepAnswer(ctx, tx, saved)
}
