package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Version is a state of an app's source that was installed or saved.
type Version struct {
	Version   int64     `json:"version"` // its number
	Tag       string    `json:"tag"`
	Commit    string    `json:"commit"` // empty for one that was saved
	SHA256    string    `json:"sha256"`
	CreatedBy *User     `json:"created_by"` // nil: another organization's global app
	CreatedAt time.Time `json:"created_at"`
	Current   bool      `json:"current"`   // the app is at it
	Withdrawn *Off      `json:"withdrawn"` // nil: it is not
}

// FileDiff is what a version changes in one file, as a unified diff.
type FileDiff struct {
	Filename string `json:"filename"`
	Diff     string `json:"diff"`
}

// Diffs is what a version changes.
type Diffs struct {
	Files []FileDiff `json:"files"`
}

func versionsPath(id int64) string { return appPath(id) + "/versions" }

// ListVersions reads one page of an app's versions.
func (o *Organization) ListVersions(ctx context.Context, id int64, r Range) (Page[Version], error) {
	return ask[Page[Version]](ctx, o.at, http.MethodGet, versionsPath(id), r.addTo(url.Values{}), nil)
}

// AllVersions reads an app's versions, newest first.
func (o *Organization) AllVersions(ctx context.Context, id int64) iter.Seq2[Version, error] {
	return all[Version](ctx, o.at, versionsPath(id), nil)
}

// DiffVersions compares a version with another; with the one before it if against is 0.
func (o *Organization) DiffVersions(ctx context.Context, id, version, against int64) (Diffs, error) {
	query := url.Values{}
	if against != 0 {
		query.Set("against", strconv.FormatInt(against, 10))
	}
	return ask[Diffs](ctx, o.at, http.MethodGet, versionsPath(id)+"/"+strconv.FormatInt(version, 10)+"/diff", query, nil)
}
