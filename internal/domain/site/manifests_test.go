package site

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"weak"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/report"
	"foyer/internal/infra/db/dbtest"
)

// A cached manifest is served for a second; then another server's change is visible.
func TestManifestOfAnotherServer(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		now := r.DB.Now()
		r.DB.Now = func() time.Time { return now }
		elsewhere := Service{DB: r.DB, Manifests: NewManifests(r.DB)}
		elsewhere.Manifests.BaseURL = r.BaseURL()
		serve := func() *Content {
			content, err := elsewhere.Manifest(r.Context(), s.Token)
			if err != nil {
				r.Fatal(err)
			}
			return content
		}
		empty := serve()
		r.place(r.caller, s, p)
		if serve() != empty {
			r.Error("the database was asked within a second")
		}
		now = now.Add(maxManifestAge)
		placed := serve()
		if _, apps := r.read(placed); apps != "app@1{}" || placed.Tag == empty.Tag {
			r.Errorf("a second later: %s, tag %s", apps, placed.Tag)
		}
		now = now.Add(maxManifestAge)
		if serve() != placed {
			r.Error("what has not changed was made again")
		}
		if err := r.Delete(r.Context(), r.caller, s.ID); err != nil {
			r.Fatal(err)
		}
		now = now.Add(maxManifestAge)
		if _, err := elsewhere.Manifest(r.Context(), s.Token); blames(err) != "not found" {
			r.Errorf("deleted: %v", err)
		}
	})
}

// However many sites are served, the manifests in memory are bounded.
func TestManifestsAreBounded(t *testing.T) {
	each(t, func(r rig) {
		r.Manifests.sites.Max = 4 << 10
		serve := func(s Site) weak.Pointer[Content] {
			content, err := r.Manifest(r.Context(), s.Token)
			if err != nil {
				r.Fatal(err)
			}
			return weak.Make(content)
		}
		first := serve(r.site(r.caller, "first"))
		for i := range 5 {
			serve(r.site(r.caller, strconv.Itoa(i)))
		}
		if runtime.GC(); first.Value() != nil {
			r.Error("the first manifest is still in memory")
		}
	})
}

func TestContent(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		paths := []string{"/shop/**", "!**/größe {1}", "/a%20b", "/%c3%A9", "!/a|b"}
		if changed := r.change(r.caller, s, p, PlacementDraft{Paths: patch.Of(paths)}); !slices.Equal(changed.Paths, paths) {
			r.Errorf("%q, want %q", changed.Paths, paths)
		}
		m, err := r.Manifest(r.Context(), s.Token)
		if err != nil {
			r.Fatal(err)
		}
		sum := r.text(`SELECT bundle FROM plugin_versions`)
		token, integrity := r.text(`SELECT public_token FROM plugin_sources`), r.text(`SELECT bundle_integrity FROM plugin_versions`)
		want := fmt.Sprintf(`{"site":"%s","revision":3,"sample":1,"apps":[{"id":%d,"name":"app","version":1,"url":"https://foyer.example/apps/%s/%s.js","integrity":"%s","config":{},`+
			`"paths":["/shop/**","!**/gr%%C3%%B6%%C3%%9Fe%%20%%7B1%%7D","!**/gr%%c3%%b6%%c3%%9fe%%20%%7b1%%7d","/a%%20b","/%%C3%%A9","/%%c3%%a9","!/a%%7Cb","!/a%%7cb","!/a|b"]}]}`, s.Token, p.ID, token, sum, integrity)
		if string(m.Plain()) != want {
			r.Errorf("%s\nwant %s", m.Plain(), want)
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(m.Compressed()))
		if err != nil {
			r.Fatal(err)
		}
		if body, err := io.ReadAll(unzipped); err != nil || !bytes.Equal(body, m.Plain()) {
			r.Errorf("%s, %v", body, err)
		}
		l, err := r.Loader(r.Context(), s.Token)
		if err != nil || !strings.Contains(string(l.Plain()), s.Token) || !strings.Contains(string(l.Plain()), "https://foyer.example") {
			r.Errorf("%+v, %v", l, err)
		}
		for _, token := range []string{"", "x", strings.ToLower(s.Token), s.Token[1:], s.Token[1:] + "A", "\xff" + s.Token[1:], s.Token + "A"} {
			if _, err := r.Manifest(r.Context(), token); blames(err) != "not found" {
				r.Errorf("%q: %v", token, err)
			}
			if _, err := r.Loader(r.Context(), token); blames(err) != "not found" {
				r.Errorf("the loader of %q: %v", token, err)
			}
		}
	})
}

// beacon sends the report of a page of a site.
func (r rig) beacon(s Site, origin, format string, args ...any) {
	r.Beacon(r.Context(), s.Token, origin, fmt.Appendf(nil, format, args...))
}

func (r rig) health(s Site, p plugin.Plugin) report.Health {
	r.Helper()
	if err := r.Manifests.Counts.Flush(r.Context()); err != nil {
		r.Fatal(err)
	}
	h, err := r.Health(r.Context(), r.callerOf(s), p.ID, s.ID, time.Time{})
	if err != nil {
		r.Fatal(err)
	}
	all, err := r.HealthOfSite(r.Context(), r.callerOf(s), s.ID, time.Time{}, page.First)
	for _, app := range all.Items { // the health of the whole site says the same
		if app.AppID == p.ID && (!slices.Equal(app.Versions, h.Versions) || !slices.Equal(app.Errors, h.Errors)) {
			r.Errorf("of the app %+v, of the site %+v", h, app.Health)
		}
	}
	if err != nil {
		r.Fatal(err)
	}
	return h
}

func TestBeacons(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		for i := range 100 {
			state := "running"
			if i%25 == 0 {
				state = "failed"
			}
			r.beacon(s, "https://any.example", `{"revision":2,"apps":[{"id":%d,"version":1,"state":%q,"ms":%d}],"errors":[]}`, p.ID, state, i+1)
		}
		r.beacon(s, "null", `{"apps":[{"id":%d,"version":1,"state":"loading","ms":0}],
			"errors":[{"id":%d,"version":1,"name":"TypeError","message":"x at https://shop.example/me?mail=a@b.c\nfor a@b.c","line":3,"column":7}]}`, p.ID, p.ID)
		r.beacon(s, "", `{"errors":[{"id":%d,"version":1,"name":"TypeError","message":"x at https://shop.example/other for c@d.e","line":3,"column":7}]}`, p.ID)
		h := r.health(s, p)
		if len(h.Versions) != 1 || len(h.Errors) != 1 {
			r.Fatalf("%+v", h)
		}
		v, e := h.Versions[0], h.Errors[0]
		if v.Loads != 101 || v.Failed != 4 || v.Running != 96 || v.P50 < 40 || v.P50 > 60 || v.P95 < 80 || v.P95 > 115 {
			r.Errorf("%+v", v)
		}
		if e.Count != 2 || e.Message != "x at (address) for (address)" || e.Line != 3 || e.Column != 7 {
			r.Errorf("%+v", e)
		}
		if _, err := r.Health(r.Context(), r.other, p.ID, 0, time.Time{}); blames(err) != "not found" {
			r.Errorf("of another organization: %v", err)
		}
		if _, err := r.Health(r.Context(), r.caller, p.ID, 0, r.DB.Now().Add(-100*24*time.Hour)); blames(err) != "since invalid" {
			r.Errorf("100 days ago: %v", err)
		}
	})
}

// A report about a manifest that another server has just made is counted, though this server does not know it yet.
func TestReportToAnotherServer(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		now := r.DB.Now()
		r.DB.Now = func() time.Time { return now }
		elsewhere := Service{DB: r.DB, Manifests: NewManifests(r.DB)}
		reports := func(version int) {
			revision, _ := r.manifest(s)
			elsewhere.Beacon(r.Context(), s.Token, "", fmt.Appendf(nil, `{"revision":%d,"apps":[{"id":%d,"version":%d,"state":"running","ms":5}]}`, revision, p.ID, version))
		}
		reports(1)
		now = now.Add(maxManifestAge)
		reports(1)
		r.save(r.caller, p.ID, "two")
		reports(2)
		before := dbtest.Statements(r.DB)
		for i := range 10 {
			elsewhere.Beacon(r.Context(), s.Token, "", fmt.Appendf(nil, `{"revision":%d}`, 100+i))
		}
		if n := dbtest.Statements(r.DB) - before; n > 0 {
			r.Errorf("reports with revisions that no server has made cost %d statements", n)
		}
		if err := elsewhere.Manifests.Counts.Flush(r.Context()); err != nil {
			r.Fatal(err)
		}
		if h := r.health(s, p); len(h.Versions) != 2 {
			r.Errorf("%+v", h)
		}
	})
}

// If sites of several organizations have an app, each organization sees on which of its own sites it is, and how it does
// there.
func TestHealthOfSharedApp(t *testing.T) {
	each(t, func(r rig) {
		p := r.app(r.caller, "app", "")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		shop, blog, theirs := r.site(r.caller, "shop"), r.site(r.caller, "blog"), r.site(r.other, "theirs")
		for _, s := range []Site{shop, blog, theirs} {
			r.place(r.callerOf(s), s, p)
			r.beacon(s, "", `{"apps":[{"id":%d,"version":1,"state":"failed"}],"errors":[{"id":%[1]d,"version":1,"message":%q},{"id":%[1]d,"version":1,"message":"same"}]}`, p.ID, s.Name)
			r.health(s, p) // flushes the counts
		}
		q := r.app(r.other, "only theirs", "")
		r.patch(r.other, q.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.place(r.other, theirs, q)
		r.beacon(theirs, "", `{"apps":[{"id":%[1]d,"version":1,"state":"failed"}],"errors":[{"id":%[1]d,"version":1,"message":"x"}]}`, q.ID)
		r.health(theirs, q)
		for _, c := range []struct {
			who  access.Caller
			site int64
			want string
		}{
			{r.caller, 0, "2 [blog 1 same 2 shop 1]"},
			{r.caller, shop.ID, "1 [same 1 shop 1]"},
			{r.caller, blog.ID, "1 [blog 1 same 1]"},
			{r.caller, theirs.ID, "not found"},
			{r.other, 0, "1 [same 1 theirs 1]"},
			{r.other, theirs.ID, "1 [same 1 theirs 1]"},
			{r.other, shop.ID, "not found"},
		} {
			h, err := r.Health(r.Context(), c.who, p.ID, c.site, time.Time{})
			var messages []string
			for _, e := range h.Errors {
				messages = append(messages, fmt.Sprint(e.Message, " ", e.Count))
			}
			slices.Sort(messages)
			got := blames(err)
			if len(h.Versions) > 0 {
				got = fmt.Sprint(h.Versions[0].Loads, " ", messages)
			}
			if got != c.want {
				r.Errorf("%s, site %d: %s, want %s", c.who.Organization.Name, c.site, got, c.want)
			}
		}
		for _, c := range []struct {
			who     access.Caller
			on      []int64 // the sites of p
			failing int     // apps
		}{{r.caller, []int64{shop.ID, blog.ID}, 1}, {r.other, []int64{theirs.ID}, 2}} {
			on, err := r.PlacementsOf(r.Context(), c.who, p.ID, page.First)
			if err != nil || on.Count != len(c.on) || !slices.EqualFunc(on.Items, c.on, func(p Placement, id int64) bool { return p.SiteID == id }) {
				r.Errorf("%s: it is on %+v, %v", c.who.Organization.Name, on, err)
			}
			failing, err := r.plugins.Find(r.Context(), c.who, plugin.Filter{State: plugin.IsFailing}, page.First)
			if err != nil || failing.Count != c.failing {
				r.Errorf("%s: %d apps fail, %v", c.who.Organization.Name, failing.Count, err)
			}
		}
	})
}

// However many errors the pages of one site report, there is room for those of another.
func TestErrorsOfOneSite(t *testing.T) {
	each(t, func(r rig) {
		noisy, p := r.site(r.caller, "noisy"), r.app(r.caller, "app", "")
		quiet, other := r.site(r.other, "quiet"), r.app(r.other, "other", "")
		r.place(r.caller, noisy, p)
		r.place(r.other, quiet, other)
		const report = `{"apps":[{"id":%d,"version":1,"state":"failed","ms":1}],"errors":[%s]}`
		for i := range 30 {
			var errs []string
			for k := range 200 {
				errs = append(errs, fmt.Sprintf(`{"id":%d,"version":1,"name":"Error","message":"%d %d"}`, p.ID, i, k))
			}
			r.beacon(noisy, "", report, p.ID, strings.Join(errs, ","))
		}
		r.beacon(quiet, "", report, other.ID, fmt.Sprintf(`{"id":%d,"version":1,"name":"Error","message":"real"}`, other.ID))
		if h := r.health(quiet, other); len(h.Errors) != 1 || h.Errors[0].Message != "real" {
			r.Errorf("%+v", h)
		}
		if h := r.health(noisy, p); len(h.Errors) != 50 || h.Versions[0].Failed != 30 {
			r.Errorf("%d errors of %+v", len(h.Errors), h.Versions)
		}
	})
}

// These reports count nothing: junk, versions that the site has not run lately, and reports from other origins.
func TestBeaconsThatDoNotCount(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		if _, err := r.Update(r.Context(), r.caller, s.ID, Draft{Origins: patch.Of([]string{"https://shop.example"})}); err != nil {
			r.Fatal(err)
		}
		r.place(r.caller, s, p)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of[int64](1)})
		r.save(r.caller, p.ID, "two")
		r.place(r.caller, r.site(r.caller, "elsewhere"), p) // runs version 2
		good := fmt.Sprintf(`{"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, p.ID)
		for _, origin := range []string{"", "null", "https://evil.example", "http://shop.example", "https://shop.example:8443"} {
			r.beacon(s, origin, "%s", good)
		}
		for _, junk := range []string{
			"", "null", "[]", "{}", "x", `{"apps":1}`, `{"apps":[1]}`, `{"apps":[{"id":"x"}]}`, "\xff", strings.Repeat("[", 8000),
			strings.Replace(good, "running", "happy", 1), strings.Replace(good, `"version":1`, `"version":2`, 1), strings.Replace(good, `"id":`, `"id":9`, 1),
			`{"apps":[` + strings.Repeat(`{},`, 300) + `{}]}`, `{"errors":[{"id":77,"version":1,"message":"x"}]}`,
		} {
			r.beacon(s, "https://shop.example", "%s", junk)
		}
		if h := r.health(s, p); len(h.Versions)+len(h.Errors) != 0 {
			r.Errorf("%+v", h)
		}
		r.beacon(s, "https://shop.example", `{"apps":[{"id":%d,"version":1,"state":"running","ms":-1e300},{"id":%d,"version":1,"state":"failed"}]}`, p.ID, p.ID)
		if err := r.Remove(r.Context(), r.caller, s.ID, p.ID); err != nil {
			r.Fatal(err)
		}
		r.beacon(s, "https://shop.example", "%s", good) // it ran until a moment ago
		if h := r.health(s, p); len(h.Versions) != 1 || h.Versions[0].Loads != 2 || h.Versions[0].Running != 2 {
			r.Errorf("%+v", h)
		}
		removed := r.DB.Now()
		for _, c := range []struct {
			after time.Duration
			loads int64 // since the day before
		}{{23 * time.Hour, 3}, {25 * time.Hour, 1}} {
			r.DB.Now = func() time.Time { return removed.Add(c.after) }
			r.place(r.caller, s, r.app(r.caller, c.after.String(), "")) // a revision begins
			r.beacon(s, "https://shop.example", "%s", good)
			if h := r.health(s, p); len(h.Versions) != 1 || h.Versions[0].Loads != c.loads {
				r.Errorf("%v later: %+v, want %d loads", c.after, h, c.loads)
			}
		}
	})
}

// What a site has run without a change for more than a day counts, whatever has changed on other sites.
func TestBeaconsOfAnUnchangedSite(t *testing.T) {
	each(t, func(r rig) {
		s, busy, p := r.site(r.caller, "shop"), r.site(r.caller, "busy"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		r.place(r.caller, busy, p)
		r.change(r.caller, busy, p, PlacementDraft{Enabled: patch.Of(false)})
		placed := r.DB.Now()
		r.DB.Now = func() time.Time { return placed.Add(25 * time.Hour) }
		r.beacon(s, "", `{"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, p.ID)
		if h := r.health(s, p); len(h.Versions) != 1 || h.Versions[0].Loads != 1 {
			r.Errorf("%+v", h)
		}
	})
}

// Minutes are added up to hours without loss; the last errors are kept.
func TestTidyCounts(t *testing.T) {
	each(t, func(r rig) {
		s, blog, p, q := r.site(r.caller, "shop"), r.site(r.caller, "blog"), r.app(r.caller, "p", ""), r.app(r.caller, "q", "")
		for _, s := range []Site{s, blog} {
			r.place(r.caller, s, p)
			r.place(r.caller, s, q)
		}
		r.save(r.caller, p.ID, "two")
		now := time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)
		began := now
		r.DB.Now = func() time.Time { return now }
		for minute := range 90 {
			now = now.Add(time.Minute)
			for _, s := range []Site{s, blog} { // three versions of two apps have equal counts on both sites
				r.beacon(s, "", `{"apps":[{"id":%[1]d,"version":1,"state":"running","ms":5},{"id":%[2]d,"version":1,"state":"running","ms":5}]}`, p.ID, q.ID)
				r.beacon(s, "", `{"apps":[{"id":%d,"version":2,"state":"running","ms":5}]}`, p.ID)
				for _, app := range []plugin.Plugin{p, q} {
					if minute < 50 || s.ID == blog.ID && app.ID == q.ID { // the last one has too many, of which the others have some
						r.beacon(s, "", `{"errors":[{"id":%d,"version":1,"message":"at %s"}]}`, app.ID, now.Format("15:04"))
					}
				}
			}
		}
		if h := r.health(blog, q); h.Versions[0].Loads != 90 || len(h.Errors) != 50 || h.Errors[0].Message != "at 12:00" {
			r.Errorf("%+v", h)
		}
		const day = 24 * time.Hour
		for _, c := range []struct {
			after time.Duration
			want  string
		}{
			{2*day - time.Hour, "540 200"}, // rows by minute, and errors
			{2*day + 2*time.Hour, "18 200"},
			{2*day + 2*time.Hour, "18 200"}, // a second time
			{90*day - time.Hour, "18 200"},
			{90*day + 2*time.Hour, "0 0"},
		} {
			now = began.Add(c.after)
			if err := r.Tidy(r.Context()); err != nil {
				r.Fatal(err)
			}
			if rows := r.text(`SELECT COUNT(*) || ' ' || (SELECT COUNT(*) FROM site_errors) FROM site_counts`); rows != c.want {
				r.Errorf("%s rows after %v, want %s", rows, c.after, c.want)
			}
			if c.want == "0 0" {
				break
			}
			for id, versions := range map[int64]int{p.ID: 2, q.ID: 1} {
				h, err := r.Health(r.Context(), r.caller, id, 0, began.Truncate(time.Hour))
				if err != nil || len(h.Versions) != versions || h.Versions[0].Loads != 180 || h.Versions[versions-1].Loads != 180 {
					r.Errorf("after %v: %+v, %v", c.after, h.Versions, err)
				}
			}
		}
	})
}

// quiet is how many views of a site a minute are all reported.
const quiet = 30_000

// Pages of a busy site report some views, and each report stands for many.
func TestSample(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		now := time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)
		r.DB.Now = func() time.Time { return now }
		for range quiet + 1 {
			r.beacon(s, "", `{"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, p.ID)
		}
		now = now.Add(time.Minute)
		m, err := r.Manifest(r.Context(), s.Token)
		if err != nil || !strings.Contains(string(m.Plain()), `"sample":0.1,`) || !strings.Contains(string(m.Plain()), `"revision":2,`) {
			r.Errorf("%s, %v", m.Plain(), err)
		}
		loads := int64(quiet + 1)
		for _, c := range []struct {
			sample string
			views  int64
		}{
			{"1", 1}, // from a page that was loaded a minute ago
			{"0.1", 10},
			{"0.01", 100},
			{"0.001", 100},
			{"1e-300", 100}, // no page was given this sample
			{"0", 1},
			{"-1", 1},
			{"2", 1},
		} {
			r.beacon(s, "", `{"sample":%s,"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, c.sample, p.ID)
			loads += c.views
			if h := r.health(s, p); h.Versions[0].Loads != loads {
				r.Errorf("sample %s: %+v, want %d loads", c.sample, h, loads)
			}
		}
		now = now.Add(2 * time.Hour)
		r.beacon(s, "", `{"sample":0.001,"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, p.ID)
		if h := r.health(s, p); h.Versions[0].Loads != loads+10 {
			r.Errorf("quiet again: %+v, want %d loads", h, loads+10)
		}
	})
}

// A report that counts nothing does not count as a view either, so it does not make the sample of others smaller.
func TestJunkIsNoView(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		now := time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)
		r.DB.Now = func() time.Time { return now }
		for range quiet + 1 {
			r.beacon(s, "", `{"apps":[{"id":%d,"version":7,"state":"running","ms":5}]}`, p.ID)
		}
		now = now.Add(time.Minute)
		if m, err := r.Manifest(r.Context(), s.Token); err != nil || !strings.Contains(string(m.Plain()), `"sample":1,`) {
			r.Errorf("%s, %v", m.Plain(), err)
		}
	})
}
