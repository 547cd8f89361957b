package site

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"time"

	"foyer/internal/base/address"
	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/base/origin"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

const (
	previewTime = time.Hour // how long a preview works
	maxPreviews = 200       // of a site at the same time
)

// MayPreview reports whether a caller may run on a site's pages what other visitors do not see.
func MayPreview(c access.Caller) error {
	if err := plugin.MayManage(c); err != nil {
		return err
	}
	if c.Level < access.Admin {
		return fault.New(fault.Denied, "Only admins and owners may preview apps.")
	}
	return nil
}

// PreviewDraft says what to preview and on which page.
type PreviewDraft struct {
	URL     patch.Field[string]
	Version patch.Field[int64] // absent or null: the app's current version
	Config  patch.Field[[]Value]
}

// Preview is a link to a page that runs the previewed app.
type Preview struct {
	URL       string
	ExpiresAt time.Time
}

// preview is the stored row of a preview.
type preview struct {
	hash    string
	siteID  int64
	appID   int64
	version int64
	values  string
	userID  int64
	expires time.Time
}

// Preview makes a link to a page of a site that runs a version of an app with values, in that browser tab alone,
// whether the app is placed or not. Values that are not given are the version's defaults.
func (s Service) Preview(ctx context.Context, c access.Caller, id, appID int64, d PreviewDraft) (made Preview, err error) {
	if err := MayPreview(c); err != nil {
		return Preview{}, err
	}
	if err := d.check(); err != nil {
		return Preview{}, err
	}
	token := rand.Text()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		made, err = s.makePreview(ctx, tx, c, id, appID, d, token)
		return err
	})
	return made, err
}

func (s Service) makePreview(ctx context.Context, tx *db.Tx, c access.Caller, id, appID int64, d PreviewDraft, token string) (Preview, error) {
	site, err := s.lockSite(ctx, tx, c, id, MayPreview)
	if err != nil {
		return Preview{}, err
	}
	if precondition.Given(ctx) { // an app that is not placed has no ETag
		if _, err := ownPlacement(ctx, tx, site, appID); err != nil {
			return Preview{}, err
		}
	}
	page, err := s.pageOf(site, d.URL.Value)
	if err != nil {
		return Preview{}, err
	}
	p, err := newDependencies(tx).preview(ctx, site, appID, d)
	if err != nil {
		return Preview{}, err
	}
	now := s.DB.Now()
	n, err := countPreviews(ctx, tx, id, now)
	if err != nil {
		return Preview{}, err
	}
	if n >= maxPreviews {
		return Preview{}, fault.New(fault.Invalid, "A site has at most %d previews at a time: wait until one expires, an hour after it was made.", maxPreviews)
	}
	p.hash, p.userID, p.expires = digest.SHA256(token), c.UserID, now.Add(previewTime)
	page.RawQuery = withParameter(page.RawQuery, "foyer_preview", token)
	if err := insertPreview(ctx, tx, p); err != nil {
		return Preview{}, err
	}
	if err := access.KeepSecret(ctx, tx); err != nil {
		return Preview{}, err
	}
	return Preview{URL: page.String(), ExpiresAt: p.expires}, activity.Record(ctx, tx, c.Did(activityEntry(site, activity.Previewed, []activity.Change{
		activity.Changed("app", nil, appID), activity.Changed("version", nil, p.version),
	})), now)
}

func (d *PreviewDraft) check() error {
	var faults fault.List
	if !d.URL.Set {
		faults.Add(fault.Field(fault.Required, "url", "Must be given: a page of the site, or its try page."))
	}
	faults.Add(patch.RequiredText("url", d.URL, maxPreviewURL))
	rest := PlacementDraft{Version: d.Version, Config: d.Config}
	faults.Add(rest.check())
	return faults.Err()
}

const maxPreviewURL = 2000 // characters

// pageOf checks that a url is that of a page of the site or of its try page, and adds the key of the try page.
func (s Service) pageOf(site Site, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fault.Field(fault.Invalid, "url", "Must be the url of a page, like https://shop.example.com/.")
	}
	if name, err := address.Domain(u.Hostname()); err == nil { // browsers send it in ASCII
		u.Host = strings.Replace(u.Host, u.Hostname(), name, 1)
	}
	if u.Scheme+"://"+u.Host+u.Path == s.BaseURL()+"/sites/"+site.Token+"/try" {
		key := s.TryKey(site.Token)
		if key == "" {
			return nil, seal.ErrNoSecret
		}
		u.RawQuery = withParameter(u.RawQuery, "t", key)
		return u, nil
	}
	if !site.takes(origin.Of(u)) {
		return nil, fault.Field(fault.Invalid, "url", "The page must be the site's try page, or on one of its origins: %s.", strings.Join(site.Origins, ", "))
	}
	return u, nil
}

// withParameter sets a parameter of a query, and leaves the others as they were written.
func withParameter(query, name, value string) string {
	var all []string
	for other := range strings.SplitSeq(query, "&") {
		if other != "" && other != name && !strings.HasPrefix(other, name+"=") {
			all = append(all, other)
		}
	}
	return strings.Join(append(all, name+"="+value), "&")
}

// preview checks what a draft asks to preview.
func (deps *dependencies) preview(ctx context.Context, site Site, appID int64, d PreviewDraft) (preview, error) {
	a, err := deps.app(ctx, appID)
	if err != nil {
		return preview{}, err
	}
	if !a.Seen(site.OrganizationID) {
		return preview{}, access.ErrNotFound
	}
	number := d.Version.Or(a.Current)
	if err := deps.shows(ctx, site, a, number); err != nil {
		return preview{}, err
	}
	if err := deps.canRun(ctx, site, a, number); err != nil {
		return preview{}, err
	}
	checked, err := deps.schema(ctx, appID, number)
	if err != nil {
		return preview{}, err
	}
	given := values{}.with(d.Config.Value)
	faults := append(checked.unknown(d.Config.Value), checked.faults(given, true)...)
	if err := faults.Err(); err != nil {
		return preview{}, err
	}
	shown := checked.shown(given)
	if len(shown) > maxConfigBytes {
		return preview{}, tooManyBytes(len(shown))
	}
	return preview{siteID: site.ID, appID: appID, version: number, values: shown}, nil
}

// shows refuses a version that the organization does not see or that is not kept, unless its site is pinned to it: the
// version was current when it was pinned.
func (deps *dependencies) shows(ctx context.Context, site Site, a plugin.Runnable, number int64) error {
	v, err := deps.version(ctx, a.ID, number)
	if err != nil || v != nil && a.Shows(site.OrganizationID, *v) {
		return err
	}
	placed, err := findPlacement(ctx, deps.q, site, a.ID)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return err
	}
	if placed.Version != number {
		return plugin.ErrNoVersion
	}
	return nil
}

// canRun refuses a version that must not run, now or when a page asks for it.
func (deps *dependencies) canRun(ctx context.Context, site Site, a plugin.Runnable, number int64) error {
	v, err := deps.version(ctx, a.ID, number)
	if err != nil {
		return err
	}
	if !site.Enabled {
		return fault.New(fault.Invalid, "The site is off.")
	}
	if why := whyNotSeen(site.OrganizationID, a); why != "" {
		return fault.New(fault.Invalid, "%s", why)
	}
	if why := whyUnusable(v, number); why != "" {
		return fault.Field(fault.Invalid, "version", "%s", why)
	}
	return nil
}

// previewed returns a site with a preview in its manifest. It returns ErrNotFound if the preview has expired or must not
// run, or if its maker may no longer preview.
func (s Service) previewed(ctx context.Context, siteToken, token string) (site Site, err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		p, err := findPreview(ctx, q, siteToken, digest.SHA256(token), s.DB.Now())
		if err != nil {
			return access.OrNotFound(err)
		}
		if site, err = findByTokenWithApps(ctx, q, siteToken); err != nil {
			return access.OrNotFound(err)
		}
		deps := newDependencies(q)
		a, err := deps.app(ctx, p.appID)
		if err != nil {
			return err
		}
		if err := deps.canRun(ctx, site, a, p.version); fault.IsOurs(err) {
			return err
		} else if err != nil {
			return access.ErrNotFound
		}
		one, err := findListed(ctx, q, p)
		if err != nil {
			return access.OrNotFound(err)
		}
		site.apps = encode(replaceEntry(readEntries(site.apps), one.entryOf()))
		return nil
	})
	return site, err
}

// replaceEntry replaces the entry of an app, or appends it.
func replaceEntry(entries []entry, e entry) []entry {
	for i := range entries {
		if entries[i].ID == e.ID {
			entries[i] = e
			return entries
		}
	}
	return append(entries, e)
}
