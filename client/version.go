package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Version is a state of an app's source that was installed or saved.
type Version struct {
	Version      int64     `json:"version"` // its number
	Tag          string    `json:"tag"`
	Commit       string    `json:"commit"` // empty for a saved version
	SHA256       string    `json:"sha256"`
	BundleSHA256 string    `json:"bundle_sha256"` // empty: no bundle
	Message      string    `json:"message"`       // from the user who saved it
	CreatedBy    *User     `json:"created_by"`    // nil for another organization's global app
	CreatedAt    time.Time `json:"created_at"`
	Current      bool      `json:"current"`   // the app is at it
	Withdrawn    *Off      `json:"withdrawn"` // nil: not withdrawn
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

// UpgradeReview is the version that an upgrade would move an app to.
type UpgradeReview struct {
	Version      *int64          `json:"version"` // nil: the server does not hold it yet
	Tag          string          `json:"tag"`
	Commit       string          `json:"commit"`
	ConfigSchema json.RawMessage `json:"config_schema"`
	Bundle       *ReviewedBundle `json:"bundle"` // nil: no bundle, and pages stop running the app
	Files        []FileDiff      `json:"files"`  // compared with the current version
}

// ReviewedBundle is the compiled program that pages would get.
type ReviewedBundle struct {
	Size   int64 `json:"size"` // in bytes
	Inject bool  `json:"inject"`
	Kept   bool  `json:"kept"` // from an earlier version, because this one does not compile
}

// ReviewUpgrade reads what an upgrade would do, without doing it. It uses only the tag, the version and AcceptChanged
// of to.
func (o *Organization) ReviewUpgrade(ctx context.Context, id int64, to Upgrade) (UpgradeReview, error) {
	query := url.Values{}
	if to.Tag != nil {
		set(query, "tag", *to.Tag)
	}
	if to.Version != nil {
		query.Set("version", strconv.FormatInt(*to.Version, 10))
	}
	if to.AcceptChanged {
		query.Set("accept_changed", "true")
	}
	return ask[UpgradeReview](ctx, o.at, http.MethodGet, appPath(id)+"/upgrade", query, nil)
}

func versionsPath(id int64) string { return appPath(id) + "/versions" }

// ListVersions reads one page of an app's versions.
func (o *Organization) ListVersions(ctx context.Context, id int64, r Range) (Page[Version], error) {
	return list[Page[Version]](ctx, o.at, versionsPath(id), nil, r)
}

// VersionWithSchema is a version with the schema that the values of placements running it are checked against.
type VersionWithSchema struct {
	Version

	ConfigSchema json.RawMessage `json:"config_schema"`
}

// GetVersion reads one version of an app.
func (o *Organization) GetVersion(ctx context.Context, id, version int64) (VersionWithSchema, error) {
	return ask[VersionWithSchema](ctx, o.at, http.MethodGet, versionPath(id, version), nil, nil)
}

// AllVersions reads an app's versions, newest first.
func (o *Organization) AllVersions(ctx context.Context, id int64) iter.Seq2[Version, error] {
	return all[Version](ctx, o.at, versionsPath(id), nil)
}

// DiffVersions compares a version with another, or with its predecessor if against is 0.
func (o *Organization) DiffVersions(ctx context.Context, id, version, against int64) (Diffs, error) {
	query := url.Values{}
	setInt(query, "against", against)
	return ask[Diffs](ctx, o.at, http.MethodGet, versionPath(id, version)+"/diff", query, nil)
}
