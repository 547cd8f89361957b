package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"foyer/internal/base/digest"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/db"
)

// Version is a state of a plugin's source that was installed or saved.
type Version struct {
	Number    int64 // from 1
	Tag       string
	Commit    string // "": saved here, not installed
	SHA256    string // of the names and sums of its files, in hexadecimal
	Message   string // what the user who saved it wrote about it; may be ""
	Bundle    Bundle
	Schema    string   // the config_schema that belongs to its bundle
	Withdrawn Off      // zero: it is not
	Current   bool     // whether the plugin is at it; set only by Versions, Version, Withdraw and Restore
	CreatedBy org.User // zero: hidden, or unknown
	CreatedAt time.Time

	id int64
}

// Bundle is a compiled version; the zero Bundle is none.
type Bundle struct {
	SHA256    string // in hexadecimal
	Integrity string // as in the integrity attribute of HTML
	Size      int    // bytes
	Inject    bool   // it exports inject
}

// maxSaved is how many saved versions a plugin keeps; installed ones are all kept.
const maxSaved = 100

// origin is the row of plugin_sources: a plugin's current version, the token in its bundles' urls and, if it was
// installed, where it comes from.
type origin struct {
	PluginID       int64
	OrganizationID string
	PublicToken    string // "": the plugin has no version yet
	Current        int64  // number of the current version
	URLKey         string // "": no upstream
	Credentials    string // sealed; "": none
	CheckedAt      time.Time
}

// build is compiled source, which becomes a version.
type build struct {
	files  []source.File // by name
	site   bool          // there is a file to make the bundle from
	bundle *bundle.Bundle
}

// compiled returns the bundle; zero if there is none.
func (b build) compiled() Bundle {
	if b.bundle == nil {
		return Bundle{}
	}
	return Bundle{SHA256: b.bundle.SHA256, Integrity: b.bundle.Integrity, Size: len(b.bundle.JS), Inject: b.bundle.Inject}
}

// compile compiles source, in a child process.
func (s Service) compile(ctx context.Context, organizationID string, texts map[string]string) (build, error) {
	result, err := bundle.Compile(ctx, s.Children, organizationID, texts)
	if err != nil {
		return build{}, err
	}
	b := build{files: make([]source.File, len(result.Files)), site: result.Site != "", bundle: result.Bundle}
	for i, f := range result.Files {
		text := texts[f.Name]
		b.files[i] = source.File{File: f, Text: text, SHA256: digest.SHA256(text), Size: len(text)}
	}
	return b, nil
}

// as returns v with what the build compiled to. If there is a site but no bundle, because it did not compile, v keeps
// the bundle of the version before and its config_schema, by which that bundle reads its values.
func (b build) as(v, before Version) (_ Version, keeps bool) {
	v.Bundle = b.compiled()
	if keeps = b.site && b.bundle == nil && before.Bundle.SHA256 != ""; keeps {
		v.Bundle, v.Schema = before.Bundle, before.Schema
	}
	return v, keeps
}

// contents returns the texts of a build's files and its bundle, by their sums.
func (b build) contents() map[string]string {
	all := make(map[string]string, len(b.files)+1)
	for _, f := range b.files {
		all[f.SHA256] = f.Text
	}
	if b.bundle != nil {
		all[b.bundle.SHA256] = string(b.bundle.JS)
	}
	return all
}

// add stores a build as the newest version of a plugin, and makes it the current one.
func (s Service) add(ctx context.Context, tx *db.Tx, c access.Caller, o *origin, current, v Version, b build) (Version, error) {
	v, _ = b.as(v, current)
	v.SHA256, v.CreatedBy.ID, v.CreatedAt = source.Sum(b.files), c.UserID, s.DB.Now()
	if err := insertContents(ctx, tx, b.contents()); err != nil {
		return Version{}, err
	}
	if err := refuseWithdrawnBundle(ctx, tx, o.PluginID, v.Bundle); err != nil {
		return Version{}, err
	}
	v, err := addVersion(ctx, tx, o, v)
	if err != nil {
		return Version{}, err
	}
	return v, insertFiles(ctx, tx, v.id, b.files)
}

// addVersion stores a version without files as the newest one, and makes it the current one.
func addVersion(ctx context.Context, tx *db.Tx, o *origin, v Version) (_ Version, err error) {
	if v.Number, err = nextNumber(ctx, tx, o.PluginID); err != nil {
		return Version{}, err
	}
	if v.id, err = insertVersion(ctx, tx, o.PluginID, v); err != nil {
		return Version{}, err
	}
	o.Current = v.Number
	return v, putOrigin(ctx, tx, o)
}

// keepSchema makes a version with the same files if the config_schema of p differs from that of its current version:
// values given for the old schema may not fit the new one. A version that keeps an older bundle also keeps that
// bundle's schema; the next version that compiles gets that of p. It removes the oldest saved versions if there are too
// many now.
func (s Service) keepSchema(ctx context.Context, tx *db.Tx, c access.Caller, o *origin, current Version, p Plugin, message string) (Version, error) {
	if current.Number == 0 || current.Schema == p.ConfigSchema {
		return current, nil
	}
	if keeps, err := keepsBundle(ctx, tx, current); err != nil || keeps {
		return current, err
	}
	v := current
	v.Commit, v.Schema, v.Tag, v.Message, v.CreatedBy.ID, v.CreatedAt = "", p.ConfigSchema, p.Tag, message, c.UserID, s.DB.Now()
	v, err := addVersion(ctx, tx, o, v)
	if err != nil {
		return Version{}, err
	}
	if err := copyFiles(ctx, tx, current.id, v.id); err != nil {
		return Version{}, err
	}
	return v, prune(ctx, tx, o.PluginID)
}

// keepsBundle reports whether a version has the bundle of an earlier one, because it did not compile.
func keepsBundle(ctx context.Context, q db.Querier, v Version) (bool, error) {
	if v.Bundle.SHA256 == "" {
		return false, nil
	}
	status, err := statuses(ctx, q, v.id)
	if err != nil {
		return false, err
	}
	manifest, err := findManifest(ctx, q, v.id)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return false, err
	}
	return status[bundle.SiteOf(status, manifest)] == string(bundle.Failed), nil
}

// changedSource returns a change of version: of its files or, if they are the same, of its number.
func changedSource(from, to Version) activity.Change {
	if from.SHA256 == to.SHA256 {
		return activity.Changed("version", from.Number, to.Number)
	}
	return activity.Changed("source", from.SHA256, to.SHA256)
}

// currentVersion returns the current version of a plugin, or zero if it has none.
func currentVersion(ctx context.Context, q db.Querier, o origin) (Version, error) {
	if o.Current == 0 {
		return Version{}, nil
	}
	return findVersion(ctx, q, o.PluginID, o.Current)
}

// originAndVersion returns the origin of a plugin and its current version, or zero if it has none.
func originAndVersion(ctx context.Context, q db.Querier, p Plugin) (o origin, current Version, err error) {
	if o, err = originOf(ctx, q, p.OrganizationID, p.ID); err == nil {
		current, err = currentVersion(ctx, q, o)
	}
	return o, current, err
}

// putOrigin stores o, and first gives it a public token if it has none.
func putOrigin(ctx context.Context, tx *db.Tx, o *origin) error {
	if o.PublicToken != "" {
		return updateOrigin(ctx, tx, *o)
	}
	o.PublicToken = rand.Text()
	return insertOrigin(ctx, tx, *o)
}

// prune removes the oldest saved versions if there are too many, after a new one has become the current one.
func prune(ctx context.Context, tx *db.Tx, pluginID int64) error {
	ids, err := listSurplus(ctx, tx, pluginID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := removeVersion(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
