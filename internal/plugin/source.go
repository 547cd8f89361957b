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

	version Version
}

// Source returns a plugin with its files.
func (s Service) Source(ctx context.Context, c access.Caller, id int64) (Sources, error) {
	p, err := s.Get(ctx, c, id)
	if err != nil {
		return Sources{}, err
	}
	return s.sourceOf(ctx, p)
}

func (s Service) sourceOf(ctx context.Context, p Plugin) (Sources, error) {
	o, err := originOf(ctx, s.DB, p)
	if err != nil {
		return Sources{}, err
	}
	v, err := currentVersion(ctx, s.DB, o)
	if err != nil {
		return Sources{}, access.OrNotFound(err) // deleted meanwhile
	}
	files, err := listFiles(ctx, s.DB, v.id)
	if err != nil {
		return Sources{}, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return Sources{Plugin: p, Files: files, Bundle: v.Bundle, PublicToken: o.PublicToken, version: v}, nil
}

// errRaced means that a plugin's source was changed by another meanwhile.
var errRaced = errors.New("the source has changed meanwhile")

// maxRaces is how often a change of source is tried: each time, another was faster.
const maxRaces = 20

// UpdateSource makes edits to a plugin's files, compiles them, and sets the fields
// that the draft names.
func (s Service) UpdateSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []Edit) (Sources, error) {
	if err := MayManage(c); err != nil {
		return Sources{}, err
	}
	var wrong fault.List
	wrong.Add(d.checkAlone())
	wrong.Add(faults(edits).Err())
	if err := wrong.Err(); err != nil {
		return Sources{}, err
	}
	for range maxRaces {
		err := s.editSource(ctx, c, id, d, edits)
		if err == nil {
			return s.Source(ctx, c, id)
		}
		if !errors.Is(err, errRaced) {
			return Sources{}, err
		}
	}
	return Sources{}, fault.Later(fault.Busy, time.Second, "Others are changing the source of this app; try again.")
}

// editSource compiles outside the transaction, which finds out whether the files
// are still those that were edited.
func (s Service) editSource(ctx context.Context, c access.Caller, id int64, d Draft, edits []Edit) error {
	p, err := s.own(ctx, s.DB, c, id, "")
	if err != nil {
		return err
	}
	before, err := s.sourceOf(ctx, p)
	if err != nil {
		return err
	}
	if err := describeEdited(&d, edits); err != nil {
		return err
	}
	texts, err := edited(before.Files, edits)
	if err != nil {
		return err
	}
	var made *build // nil: no file is another
	if !same(before.Files, texts) {
		b, err := s.compileSave(ctx, p, texts)
		if err != nil {
			return err
		}
		made = &b
	}
	defer s.Bundles.forget()
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return s.saveSource(ctx, tx, c, before, d, made) })
}

func (s Service) compileSave(ctx context.Context, p Plugin, texts map[string]string) (build, error) {
	end, err := s.Saves.begin(p.OrganizationID)
	if err != nil {
		return build{}, err
	}
	defer end()
	return s.compile(ctx, texts)
}

// describeEdited has the plugin.json among edits say the name and the config schema.
func describeEdited(d *Draft, edits []Edit) error {
	e, ok := manifestEdit(edits)
	if !ok {
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

func (s Service) saveSource(ctx context.Context, tx *db.Tx, c access.Caller, read Sources, d Draft, made *build) error {
	if made != nil {
		if err := lockContents(ctx, tx); err != nil {
			return err
		}
	}
	p, err := s.own(ctx, tx, c, read.ID, tx.ForUpdate)
	if err != nil {
		return err
	}
	o, err := originOf(ctx, tx, p)
	if err != nil {
		return err
	}
	if o.Current != read.version.Number {
		return errRaced
	}
	before := p
	if p.Type, err = d.changedType(p.Type); err != nil {
		return err
	}
	d.apply(&p)
	changes := diff(before, p)
	if made != nil {
		if err := s.add(ctx, tx, c, &o, Version{Tag: p.Tag}, *made); err != nil {
			return err
		}
		if err := prune(ctx, tx, p.ID); err != nil {
			return err
		}
		changes = append(changes, activity.Changed("source", read.version.SHA256, sumOf(made.files)))
	}
	if len(changes) == 0 {
		return nil
	}
	return s.save(ctx, tx, c, before, &p, activity.SourceUpdated, changes)
}
