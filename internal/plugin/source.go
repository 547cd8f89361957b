package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"foyer/internal/access"
	"foyer/internal/activity"
	"foyer/internal/db"
	"foyer/internal/fault"
)

// Sources is a plugin and what it is made of.
type Sources struct {
	Plugin

	Files       []File // by name
	Bundle      Bundle
	PublicToken string // what the bundle is served under

	number int64 // of the current version, 0 if there is none
}

// Source returns a plugin with its files.
func (s Service) Source(ctx context.Context, c access.Caller, id int64) (Sources, error) {
	return s.sourceOf(ctx, func(q db.Querier) (Plugin, error) { return s.get(ctx, q, c, id) })
}

// sourceOf returns the plugin that find finds, and its files, as they are at one moment.
func (s Service) sourceOf(ctx context.Context, find func(db.Querier) (Plugin, error)) (found Sources, err error) {
	err = s.DB.View(ctx, func(q db.Querier) error {
		p, err := find(q)
		if err != nil {
			return err
		}
		o, err := originOf(ctx, q, p.OrganizationID, p.ID)
		if err != nil {
			return err
		}
		v, err := currentVersion(ctx, q, o)
		if err != nil {
			return err
		}
		files, err := listFiles(ctx, q, v.id)
		found = Sources{Plugin: p, Files: files, Bundle: v.Bundle, PublicToken: o.PublicToken, number: v.Number}
		return err
	})
	slices.SortFunc(found.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// errRaced means that another caller changed a plugin's source meanwhile.
var errRaced = errors.New("the source has changed meanwhile")

// maxRaces is how often a change of source is tried: each time, another was faster.
const maxRaces = 20

// UpdateSource makes edits to a plugin's files, compiles them, and sets the fields
// that the draft names.
func (s Service) UpdateSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []Edit) (Sources, error) {
	if err := MayManage(c); err != nil {
		return Sources{}, err
	}
	if len(edits) > maxEdits {
		return Sources{}, fault.Field(fault.TooLong, "source", "At most %d files fit in one request, not %d.", maxEdits, len(edits))
	}
	d.normalize()
	var wrong fault.List
	wrong.Add(d.checkAlone())
	wrong.Add(editFaults(edits).Err())
	if err := wrong.Err(); err != nil {
		return Sources{}, err
	}
	for range maxRaces {
		saved, err := s.editSource(ctx, c, id, d, edits)
		if !errors.Is(err, errRaced) {
			return saved, err
		}
	}
	return Sources{}, fault.Later(fault.Busy, time.Second, "Others are changing the source of this app; try again.")
}

// editSource compiles outside the transaction, which finds out whether the files
// are still those that were edited.
func (s Service) editSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []Edit) (saved Sources, err error) {
	before, err := s.sourceOf(ctx, func(q db.Querier) (Plugin, error) { return s.own(ctx, q, c, id, "") })
	if err != nil {
		return Sources{}, err
	}
	if err := describeEdited(&d, before.Files, edits); err != nil {
		return Sources{}, err
	}
	texts, err := edited(before.Files, edits)
	if err != nil {
		return Sources{}, err
	}
	var made *build // nil: no file has changed
	if !same(before.Files, texts) {
		b, err := s.compileSave(ctx, before.Plugin, texts)
		if err != nil {
			return Sources{}, err
		}
		made = &b
	}
	defer s.Bundles.forget()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		saved, err = s.saveSource(ctx, tx, c, before, d, made)
		return err
	})
	if err != nil {
		return Sources{}, err
	}
	s.Memory.keep(saved.Plugin)
	return saved, nil
}

func (s Service) compileSave(ctx context.Context, p Plugin, texts map[string]string) (build, error) {
	end, err := s.Saves.begin(p.OrganizationID)
	if err != nil {
		return build{}, err
	}
	defer end()
	return s.compile(ctx, p.OrganizationID, texts)
}

// describeEdited sets the name and config schema that a plugin.json among edits says. One
// that is not changed says nothing: whoever sends back all files as they were read must
// not undo what was set since.
func describeEdited(d *Draft, before []File, edits []Edit) error {
	e, ok := manifestEdit(edits)
	if !ok || slices.ContainsFunc(before, func(f File) bool { return f.Name == manifestName && f.Text == e.Text.Value }) {
		return nil
	}
	m, err := readManifest(e.Text.Value, e.Field)
	if err != nil {
		return err
	}
	if m.Name != "" {
		d.Name.Set, d.Name.Value = true, m.Name
	}
	d.ConfigSchema.Set, d.ConfigSchema.Value = true, compact(m.Config)
	return nil
}

// saveSource returns what it wrote: read afterwards, it could be somebody else's.
func (s Service) saveSource(ctx context.Context, tx *db.Tx, c access.Caller, read Sources, d Draft, made *build) (Sources, error) {
	if made != nil {
		if err := lockContents(ctx, tx); err != nil {
			return Sources{}, err
		}
	}
	before, err := s.own(ctx, tx, c, read.ID, tx.ForUpdate)
	if err != nil {
		return Sources{}, err
	}
	o, err := originOf(ctx, tx, before.OrganizationID, before.ID)
	if err != nil {
		return Sources{}, err
	}
	if o.Current != read.number {
		return Sources{}, errRaced
	}
	current, err := currentVersion(ctx, tx, o)
	if err != nil {
		return Sources{}, err
	}
	p, err := d.changed(before)
	if err != nil {
		return Sources{}, err
	}
	saved, changes := read, diff(before, p)
	saved.Bundle = current.Bundle // which an upgrade may have changed
	if made != nil {
		v, err := s.add(ctx, tx, c, &o, current, Version{Tag: p.Tag}, *made)
		if err != nil {
			return Sources{}, err
		}
		if err := prune(ctx, tx, p.ID); err != nil {
			return Sources{}, err
		}
		saved.Files, saved.Bundle, saved.PublicToken = made.files, v.Bundle, o.PublicToken
		changes = append(changes, activity.Changed("source", current.SHA256, v.SHA256))
	}
	if len(changes) > 0 {
		err = s.save(ctx, tx, c, before, &p, activity.SourceUpdated, changes)
	}
	saved.Plugin = p
	return saved, err
}
