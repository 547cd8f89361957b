package site

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

func TestSites(t *testing.T) {
	each(t, func(r rig) {
		s, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of(" shop "), Origins: patch.Of([]string{"https://shop.example.com"})})
		if err != nil || s.Name != "shop" || !s.Enabled || !isToken(s.Token) || s.Revision != 1 {
			r.Fatalf("%+v, %v", s, err)
		}
		if got := r.Snippet(s); got != `<script async src="https://foyer.example/sites/`+s.Token+`/loader.js"></script>` {
			r.Error(got)
		}
		for name, c := range map[string]struct {
			d    Draft
			want string
		}{
			"no name":    {Draft{}, "name required"},
			"blank":      {Draft{Name: patch.Of(" ")}, "name blank"},
			"taken":      {Draft{Name: patch.Of("shop")}, "name unique"},
			"long":       {Draft{Name: patch.Of(strings.Repeat("x", 201))}, "name long"},
			"origins":    {Draft{Name: patch.Of("x"), Origins: patch.Of([]string{"https://shop.example.com/"})}, "origins invalid"},
			"51 origins": {Draft{Name: patch.Of("x"), Origins: patch.Of(make([]string, 51))}, "origins long"},
			"null":       {Draft{Name: patch.Of("x"), Enabled: patch.Field[bool]{Set: true, Null: true}}, "enabled null"},
		} {
			if _, err := r.Create(r.Context(), r.caller, c.d); blames(err) != c.want {
				r.Errorf("%s: %s, want %s", name, blames(err), c.want)
			}
		}
		if _, err := r.Create(r.Context(), r.other, Draft{Name: patch.Of("shop")}); err != nil {
			r.Errorf("the name in another organization: %v", err)
		}
		changed, err := r.Update(r.Context(), r.caller, s.ID, Draft{Name: patch.Of("store"), Origins: patch.Of([]string{})})
		if err != nil || changed.Name != "store" || len(changed.Origins) != 0 || changed.Token != s.Token || changed.Revision != 1 || changed.UpdatedAt.Equal(s.UpdatedAt) {
			r.Errorf("%+v, %v", changed, err)
		}
		found, err := r.Find(r.Context(), r.caller, Filter{}, page.First)
		if err != nil || found.Count != 1 || found.Items[0].Name != "store" {
			r.Errorf("%+v, %v", found, err)
		}
		if err := r.Delete(r.Context(), r.caller, s.ID); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Get(r.Context(), r.caller, s.ID); blames(err) != "not found" {
			r.Errorf("deleted: %v", err)
		}
		if _, err := r.Manifest(r.Context(), s.Token); blames(err) != "not found" {
			r.Errorf("its manifest: %v", err)
		}
	})
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]bool{
		"https://shop.example.com": true, "http://localhost:3000": true, "https://[::1]:8443": true, "https://xn--bcher-kva.example": true,
		"": false, "null": false, "*": false, "shop.example.com": false, "https://": false, "https://Shop.example.com": false,
		"https://shop.example.com/": false, "https://shop.example.com:443": false, "http://a.example:80": false, "https://a.example:": false,
		"https://me@a.example": false, "https://*.example.com": false, "https://bücher.example": false, "ftp://a.example": false,
		"https://a.example?x": false, "https://a b": false, "https://a.example:0443": false, "https://a.example:99999": false, "https://a.example:0": true, "ftp://a.example:21": false, "https://a.example\x00": false, `https://a"b`: false,
		"https://[::]": true, "https://[2001:db8::1]": true, "https://[1:0:2:3:4:5:6:7]": true, "https://[::ffff:102:304]": true, "https://[::102:304]": true,
		"https://[0:0:0:0:0:0:0:1]": false, "https://[1:0:0:2:0:0:0:3]": false, "https://[1:2:3:4:5:6:7::]": false, "https://[::ffff:1.2.3.4]": false,
		"https://[64:ff9b::1.2.3.4]": false, "https://[fe80::1%25eth0]": false, "https://[1.2.3.4]": false, "https://[::x]": false, "https://[::1": false,
		"https://1.2.3.4": true, "http://127.0.0.1:8080": true, "https://127.1": false, "https://127.0.0.01": false, "https://2130706433": false,
		"https://0x7f.0.0.1": false, "https://1.2.3.256": false, "https://1.2.3.4.": false, "https://a.0x": false, "https://a.1.": false,
		"https://a.": true, "https://1.a": true, "https://a.1b": true, "https://a.0xg": true, "https://1e3": true,
	} {
		if isOrigin(origin) != want {
			t.Errorf("%q: %t, want %t", origin, !want, want)
		}
	}
	if err := checkOrigins(patch.Of([]string{"https://größe.example"})); err == nil || !strings.Contains(err.Error(), "xn--") {
		t.Errorf("%v does not say how a browser sends a host that is not ASCII", err)
	}
}

// An organization has at most 1,000 sites; those of others do not count.
func TestManySites(t *testing.T) {
	each(t, func(r rig) {
		for c, n := range map[*access.Caller]int{&r.caller: maxSites - 1, &r.other: maxSites} {
			err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `
					WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $2)
					INSERT INTO sites (organization_id, name, token, enabled, is_demo, origins, revision, apps, stamp, created_at, updated_at)
					SELECT $1, 'site ' || n, $1 || n, TRUE, FALSE, '[]', 1, '[]', 1, $3, $3 FROM s`, c.Organization.ID, n, r.DB.Now())
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		r.site(r.caller, "the last")
		if _, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of("one more")}); blames(err) != "invalid" || !strings.Contains(err.Error(), "at most 1000 sites") {
			r.Errorf("one more: %v", err)
		}
	})
}

// An organization cannot access another one's sites.
func TestSitesOfOthers(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		theirs := r.app(r.other, "theirs", "")
		ctx := r.Context()
		for name, do := range map[string]func(access.Caller) error{
			"get":     func(c access.Caller) error { _, err := r.Get(ctx, c, s.ID); return err },
			"update":  func(c access.Caller) error { _, err := r.Update(ctx, c, s.ID, Draft{Name: patch.Of("x")}); return err },
			"apps":    func(c access.Caller) error { _, err := r.Apps(ctx, c, s.ID, page.First); return err },
			"app":     func(c access.Caller) error { _, err := r.App(ctx, c, s.ID, p.ID); return err },
			"change":  func(c access.Caller) error { _, err := r.Change(ctx, c, s.ID, p.ID, PlacementDraft{}); return err },
			"remove":  func(c access.Caller) error { return r.Remove(ctx, c, s.ID, p.ID) },
			"history": func(c access.Caller) error { _, err := r.History(ctx, c, s.ID, page.First); return err },
			"restore": func(c access.Caller) error { _, err := r.Restore(ctx, c, s.ID, patch.Of[int64](1)); return err },
			"sites":   func(c access.Caller) error { _, err := r.PlacementsOf(ctx, c, p.ID, page.First); return err },
			"delete":  func(c access.Caller) error { return r.Delete(ctx, c, s.ID) },
			"place": func(c access.Caller) error {
				_, err := r.Place(ctx, c, s.ID, PlacementDraft{AppID: patch.Of(theirs.ID)})
				return err
			},
			"preview": func(c access.Caller) error {
				_, err := r.Preview(ctx, c, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://x.example/")})
				return err
			},
		} {
			if err := do(r.other); blames(err) != "not found" {
				r.Errorf("%s: %v", name, err)
			}
		}
		if _, err := r.Place(ctx, r.other, r.site(r.other, "x").ID, PlacementDraft{AppID: patch.Of(p.ID)}); blames(err) != "app_id invalid" {
			r.Errorf("another's app: %v", err)
		}
		r.wants("untouched", s, "app@1{}")
	})
}

// The activity says which app of a site was placed, changed or removed, even for a restore to the current revision.
func TestActivityNamesTheApp(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		key, _, err := r.orgs.Keys.Create(r.Context(), access.Draft{UserID: r.caller.UserID, Scope: access.All})
		if err != nil {
			r.Fatal(err)
		}
		r.caller.KeyID = key.ID
		off := PlacementDraft{AppID: patch.Of(p.ID), Enabled: patch.Of(false), Position: patch.Of(int64(0))} // no page gets it, so there is no new revision
		place := func() {
			r.Helper()
			if _, err := r.Place(r.Context(), r.caller, s.ID, off); err != nil {
				r.Fatal(err)
			}
		}
		place()
		r.change(r.caller, s, p, PlacementDraft{Position: patch.Of(int64(9))})
		if err := r.Remove(r.Context(), r.caller, s.ID, p.ID); err != nil {
			r.Fatal(err)
		}
		place()
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](1)); err != nil {
			r.Fatal(err)
		}
		entries, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: s.OrganizationID, Scopes: []activity.Scope{activity.Site}}, page.Page{Limit: 5})
		if err != nil || len(entries.Items) != 5 {
			r.Fatalf("%+v, %v", entries, err)
		}
		for _, e := range entries.Items {
			if e.KeyID != key.ID || !strings.Contains(e.Changes, fmt.Sprintf(`"field":"apps.%d.position"`, p.ID)) {
				r.Errorf("%s by key %d: %s", e.Verb, e.KeyID, e.Changes)
			}
		}
		if restored := entries.Items[0].Changes; !strings.Contains(restored, `"field":"revision","before":null,"after":1`) || !strings.Contains(restored, `"before":false,"after":null`) {
			r.Error(restored)
		}
	})
}

// The activity shows each field of a placement, as it was and as it is.
func TestActivityOfPlacement(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", `[{"key":"a","type":"string","site":true}]`)
		r.place(r.caller, s, p, "a", `"x"`)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1)), Paths: patch.Of([]string{"/a"}), Config: given("a", `"y"`)})
		if err := r.Remove(r.Context(), r.caller, s.ID, p.ID); err != nil {
			r.Fatal(err)
		}
		entries, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: s.OrganizationID, Scopes: []activity.Scope{activity.Site}}, page.Page{Limit: 3})
		if err != nil || len(entries.Items) != 3 {
			r.Fatalf("%+v, %v", entries, err)
		}
		for i, want := range []string{
			`removed [enabled true null, position 1 null, version 1 null, paths ["/a"] null, config.a "y" null]`,
			`updated [version null 1, paths [] ["/a"], config.a "x" "y"]`,
			`added [enabled null true, position null 1, paths null [], config.a null "x"]`,
		} {
			changes := strings.NewReplacer(fmt.Sprintf(`{"action":"changed","field":"apps.%d.`, p.ID), "", `","before":`, " ", `,"after":`, " ", "},", ", ", "}", "").Replace(entries.Items[i].Changes)
			if got := string(entries.Items[i].Verb) + " " + changes; got != want {
				r.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// The activity says why a site, or an app on it, was switched off, if a reason was given. Nothing else stores the
// reason.
func TestWhyItIsOff(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		null, off := patch.Field[string]{Set: true, Null: true}, patch.Of(false)
		for _, d := range []Draft{
			{Enabled: off, Reason: patch.Of(" It hides the cart. ")},
			{Enabled: off, Reason: patch.Of("It is sent again.")}, // changes nothing
			{Enabled: patch.Of(true), Reason: null},
			{Enabled: off, Reason: null},
			{Enabled: off, Reason: patch.Of("Too late."), Name: patch.Of("store")},
		} {
			if _, err := r.Update(r.Context(), r.caller, s.ID, d); err != nil {
				r.Fatal(err)
			}
			r.change(r.caller, s, p, PlacementDraft{Enabled: d.Enabled, Reason: d.Reason})
		}
		entries, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: s.OrganizationID, Scopes: []activity.Scope{activity.Site}}, page.First)
		if err != nil {
			r.Fatal(err)
		}
		change := func(field, before, after string) string {
			return `{"action":"changed","field":"` + field + `","before":` + before + `,"after":` + after + `}`
		}
		app := fmt.Sprintf("apps.%d.", p.ID)
		want := []string{
			"[" + change("enabled", "true", "false") + "," + change("reason", "null", `"It hides the cart."`) + "]",
			"[" + change(app+"enabled", "true", "false") + "," + change(app+"reason", "null", `"It hides the cart."`) + "]",
			"[" + change("enabled", "false", "true") + "]",
			"[" + change(app+"enabled", "false", "true") + "]",
			"[" + change("enabled", "true", "false") + "]",
			"[" + change(app+"enabled", "true", "false") + "]",
			"[" + change("name", `"shop"`, `"store"`) + "]",
		}
		var got []string
		for _, e := range slices.Backward(entries.Items) {
			if e.Verb == activity.Updated {
				got = append(got, e.Changes)
			}
		}
		if !slices.Equal(got, want) {
			r.Errorf("got %q, want %q", got, want)
		}
	})
}

// A reason is accepted only for switching something off.
func TestReasons(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		why, off := patch.Of("why"), patch.Of(false)
		for name, c := range map[string]struct {
			enabled patch.Field[bool]
			reason  patch.Field[string]
			want    string
		}{
			"on":      {patch.Of(true), why, "reason invalid"},
			"missing": {patch.Field[bool]{}, why, "reason invalid"},
			"null":    {patch.Field[bool]{Set: true, Null: true}, why, "enabled null, reason invalid"},
			"blank":   {off, patch.Of(" "), "reason blank"},
			"long":    {off, patch.Of(strings.Repeat("x", 501)), "reason long"},
		} {
			if _, err := r.Update(r.Context(), r.caller, s.ID, Draft{Enabled: c.enabled, Reason: c.reason}); blames(err) != c.want {
				r.Errorf("%s: %s, want %s", name, blames(err), c.want)
			}
			if _, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: c.enabled, Reason: c.reason}); blames(err) != c.want {
				r.Errorf("%s, of an app: %s, want %s", name, blames(err), c.want)
			}
		}
	})
}
