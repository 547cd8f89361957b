package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// preview makes a preview of an app and returns its token.
func (r rig) preview(s Site, p plugin.Plugin, d PreviewDraft) string {
	r.Helper()
	made, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, d)
	if err != nil {
		r.Fatal(err)
	}
	u, err := url.Parse(made.URL)
	if err != nil {
		r.Fatal(err)
	}
	return u.Query().Get("foyer_preview")
}

// previews returns what a page with a token runs, or the fault.
func (r rig) previews(s Site, token string) string {
	r.Helper()
	return r.previewsOn(s, token, "")
}

// previewsOn returns what a page on an origin runs.
func (r rig) previewsOn(s Site, token, origin string) string {
	r.Helper()
	content, err := r.PreviewManifest(r.Context(), s.Token, token, origin)
	if err != nil {
		return blames(err)
	}
	_, apps := r.read(content)
	return apps
}

func TestPreview(t *testing.T) {
	each(t, func(r rig) {
		const schema = `[{"key":"a","type":"string","site":true,"required":true}]`
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", ""), r.app(r.caller, "q", schema)
		r.place(r.caller, s, p)
		r.save(r.caller, p.ID, "two")
		at := patch.Of("https://shop.example/cart?x=1#y")
		one := patch.Of(int64(1))
		if got := r.previews(s, r.preview(s, p, PreviewDraft{URL: at, Version: one})); got != "p@1{}" {
			r.Errorf("another version of what is placed: %s", got)
		}
		token := r.preview(s, q, PreviewDraft{URL: at, Config: given("a", `"x"`)})
		if got := r.previews(s, token); got != `p@2{} q@1{"a":"x"}` {
			r.Errorf("what is not placed: %s", got)
		}
		shown := fmt.Sprintf(`[{"action":"changed","field":"app","before":null,"after":%d},{"action":"changed","field":"version","before":null,"after":1}]`, q.ID)
		if last, err := activity.Last(r.Context(), r.DB, activity.Filter{OrganizationID: s.OrganizationID, Verb: activity.Previewed}); err != nil || last.Changes != shown {
			r.Errorf("the activity has %s, %v", last.Changes, err)
		}
		r.wants("others see nothing of it", s, "p@2{}")
		if got := r.previews(r.site(r.caller, "another"), token); got != "not found" {
			r.Errorf("on another site: %s", got)
		}
		for name, c := range map[string]struct {
			d    PreviewDraft
			want string
		}{
			"no url":    {PreviewDraft{}, "url required"},
			"no page":   {PreviewDraft{URL: patch.Of("shop")}, "url invalid"},
			"long url":  {PreviewDraft{URL: patch.Of("https://shop.example/" + strings.Repeat("x", maxPreviewURL))}, "url long"},
			"no host":   {PreviewDraft{URL: patch.Of("https:///cart")}, "url invalid"},
			"script":    {PreviewDraft{URL: patch.Of("javascript://shop.example/%0aalert(1)")}, "url invalid"},
			"user":      {PreviewDraft{URL: patch.Of("https://me:secret@shop.example/")}, "url invalid"},
			"version":   {PreviewDraft{URL: at, Version: patch.Of(int64(9))}, "version invalid"},
			"no value":  {PreviewDraft{URL: at}, "config.a required"},
			"bad value": {PreviewDraft{URL: at, Config: given("a", "1")}, "config.a invalid"},
			"null":      {PreviewDraft{URL: at, Config: patch.Field[[]Value]{Set: true, Null: true}}, "config null"},
		} {
			if _, err := r.Preview(r.Context(), r.caller, s.ID, q.ID, c.d); blames(err) != c.want {
				r.Errorf("%s: %s, want %s", name, blames(err), c.want)
			}
		}
		if _, err := r.Preview(r.Context(), r.other, r.site(r.other, "theirs").ID, q.ID, PreviewDraft{URL: at}); blames(err) != "not found" {
			r.Errorf("of an app of others: %v", err)
		}
		large := r.app(r.caller, "large", takes(300))
		if _, err := r.Preview(r.Context(), r.caller, s.ID, large.ID, PreviewDraft{URL: at}); blames(err) != "config long" {
			r.Errorf("of large values: %v", err)
		}
		if _, err := r.plugins.Disable(r.Context(), r.caller, q.ID, patch.Of("broken")); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Preview(r.Context(), r.caller, s.ID, q.ID, PreviewDraft{URL: at, Config: given("a", `"x"`)}); blames(err) != "invalid" {
			r.Errorf("of a disabled app: %v", err)
		}
		member := r.caller
		member.Level = access.Member
		member.Organization.MembersCanManageApps = true
		if _, err := r.Preview(r.Context(), member, s.ID, q.ID, PreviewDraft{URL: at}); blames(err) != "denied" {
			r.Errorf("a member: %v", err)
		}
	})
}

// A preview leads only to pages of its site, and to the try page, with the key of that.
func TestPreviewPages(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		if _, err := r.Update(r.Context(), r.caller, s.ID, Draft{Origins: patch.Of([]string{"https://shop.example", "https://xn--bcher-kva.example:8443"})}); err != nil {
			r.Fatal(err)
		}
		for page, want := range map[string]string{
			"https://bücher.example:8443/a": "", "https://BÜCHER.example:8443": "", "https://bücher.example/a": "url invalid", "https://bucher.example:8443/a": "url invalid",
			"https://shop.example/a": "", "https://SHOP.example:443/a": "", "http://shop.example/a": "url invalid", "https://shop.example:80/a": "url invalid", "https://shop.example.evil.example/": "url invalid",
			"https://foyer.example/console": "url invalid", "https://foyer.example/sites/" + s.Token + "/try": "",
		} {
			_, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, PreviewDraft{URL: patch.Of(page)})
			if blames(err) != want {
				r.Errorf("%s: %v", page, err)
			}
		}
		made, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://foyer.example/sites/" + s.Token + "/try")})
		if err != nil {
			r.Fatal(err)
		}
		u, err := url.Parse(made.URL)
		if err != nil {
			r.Fatal(err)
		}
		key := u.Query().Get("t")
		kept, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://shop.example/a?foyer_preview=old&foyer_preview&x=%20&y;z&q#part")})
		if before, after, ok := strings.Cut(kept.URL, "&foyer_preview="); err != nil || !ok || before != "https://shop.example/a?x=%20&y;z&q" || !strings.HasSuffix(after, "#part") {
			r.Errorf("the page is another: %s, %v", kept.URL, err)
		}
		if _, err := r.Try(r.Context(), s.Token, key); err != nil {
			r.Errorf("the try page: %v", err)
		}
		now := r.DB.Now()
		r.DB.Now = func() time.Time { return now.Add(-time.Hour) }
		over := r.TryKey(s.Token)
		r.DB.Now = func() time.Time { return now }
		for _, wrong := range []string{"", "x", key[1:], r.TryKey("another"), over} {
			if _, err := r.Try(r.Context(), s.Token, wrong); blames(err) != "not found" {
				r.Errorf("with the key %q: %v", wrong, err)
			}
		}
		demo, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of("first"), Demo: true})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Try(r.Context(), demo.Token, ""); err != nil {
			r.Errorf("that of the first start: %v", err)
		}
		if _, err := r.Try(r.Context(), r.site(r.caller, "Demo").Token, ""); blames(err) != "not found" {
			r.Errorf("that of a site that is called Demo: %v", err)
		}
		r.Box.Secret = ""
		if _, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://foyer.example/sites/" + s.Token + "/try")}); !errors.Is(err, seal.ErrNoSecret) {
			r.Errorf("of the try page, without a secret: %v", err)
		}
	})
}

// A site has a bounded number of previews at a time, even if many are requested at once.
func TestManyPreviews(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		d := PreviewDraft{URL: patch.Of("https://shop.example/")}
		made := func() error {
			_, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, d)
			return err
		}
		for range maxPreviews - 1 {
			if err := made(); err != nil {
				r.Fatal(err)
			}
		}
		results := make(chan error)
		for range 5 {
			go func() { results <- made() }()
		}
		refused := 0
		for range 5 {
			if err := <-results; blames(err) == "invalid" {
				refused++
			} else if err != nil {
				r.Error(err)
			}
		}
		if refused != 4 {
			r.Errorf("%d of 5 are refused, want 4", refused)
		}
		r.preview(r.site(r.caller, "another"), p, d)
		later := r.DB.Now().Add(previewTime)
		r.DB.Now = func() time.Time { return later }
		r.preview(s, p, d)
	})
}

// Each request checks again whether the preview is still allowed.
func TestPreviewEnds(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		r.save(r.caller, p.ID, "two")
		d := PreviewDraft{URL: patch.Of("https://shop.example/"), Version: patch.Of(int64(1))}
		token := r.preview(s, p, d)
		if strings.Contains(r.text(`SELECT hash FROM site_previews`), token) {
			r.Error("the token is stored")
		}
		ended := func(what string, undo func()) {
			r.Helper()
			if got := r.previews(s, token); got != "not found" {
				r.Errorf("%s: %s", what, got)
			}
			undo()
			if got := r.previews(s, token); got != "p@1{}" {
				r.Errorf("after %s: %s", what, got)
			}
		}
		must := func(_ any, err error) {
			r.Helper()
			if err != nil {
				r.Fatal(err)
			}
		}
		ctx := r.Context()
		must(r.plugins.Disable(ctx, r.caller, p.ID, patch.Of("x")))
		ended("disabled", func() { must(r.plugins.Enable(ctx, r.caller, p.ID)) })
		must(r.plugins.Withdraw(ctx, r.caller, p.ID, plugin.Withdrawal{Number: 1, Reason: patch.Of("x")}))
		ended("withdrawn", func() { must(r.plugins.Restore(ctx, r.caller, p.ID, 1)) })
		must(r.Update(ctx, r.caller, s.ID, Draft{Enabled: patch.Of(false)}))
		ended("the site is off", func() { must(r.Update(ctx, r.caller, s.ID, Draft{Enabled: patch.Of(true)})) })
		r.suspend(r.caller, access.ReadApps)
		ended("suspended", func() { r.suspend(r.caller, access.RootApps) })
		r.join(r.caller, "second@foyer.example", access.Owner)
		r.join(r.other, "acme@foyer.example", access.Owner)
		must(r.orgs.SetLevel(ctx, r.caller.Organization.ID, "acme@foyer.example", access.Member))
		ended("its maker is no admin any more", func() {
			must(r.orgs.SetLevel(ctx, r.caller.Organization.ID, "acme@foyer.example", access.Admin))
		})
		later := r.DB.Now().Add(time.Hour)
		r.DB.Now = func() time.Time { return later }
		if got := r.previews(s, token); got != "not found" {
			r.Errorf("after an hour: %s", got)
		}
		later = later.Add(time.Second)
		if err := r.Tidy(ctx); err != nil || r.text(`SELECT CAST(COUNT(*) AS TEXT) FROM site_previews`) != "0" {
			r.Errorf("it is still there, %v", err)
		}
	})
}

// A preview has ended if it is not allowed any more, but not if that cannot be checked: a failure is an internal error.
func TestPreviewWhileTheDatabaseFails(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		token := r.preview(s, p, PreviewDraft{URL: patch.Of("https://shop.example/")})
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `ALTER TABLE plugin_versions RENAME TO away`)
		})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.PreviewManifest(r.Context(), s.Token, token, ""); !fault.IsOurs(err) {
			r.Errorf("%v", err)
		}
	})
}

// A preview works on the site's current origins, whatever they were when it was made, and on the try page.
func TestPreviewOrigins(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		token := r.preview(s, p, PreviewDraft{URL: patch.Of("https://a.example/")})
		tried := r.previewsOn(s, token, "https://a.example")
		if _, err := r.Update(r.Context(), r.caller, s.ID, Draft{Origins: patch.Of([]string{"https://b.example"})}); err != nil {
			r.Fatal(err)
		}
		for origin, want := range map[string]string{
			"https://a.example": "", "https://b.example": tried, "": tried, "null": tried,
		} {
			got := r.previewsOn(s, token, origin)
			if want == "" {
				want = blames(access.ErrNotFound)
			}
			if got != want {
				r.Errorf("on %q: %s, want %s", origin, got, want)
			}
		}
	})
}

func (r rig) join(c access.Caller, email string, level access.Level) {
	r.Helper()
	err := r.orgs.Keys.Change(r.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := r.orgs.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: c.Organization.ID, User: org.User{Email: email}, Level: level})
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}
