package site

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

const allTypes = `[{"markdown": "a heading"},
	{"key": "text", "type": "string", "site": true, "required": true},
	{"key": "n", "type": "number", "site": true, "default": "7"},
	{"key": "on", "type": "boolean", "site": true},
	{"key": "size", "type": "choice", "choices": ["S", "L"], "site": true},
	{"key": "any", "type": "json", "site": true},
	{"key": "area", "type": "textarea", "site": true, "default": ""},
	{"key": "server", "type": "string", "required": true},
	{"key": "token", "type": "string", "site": true, "secret": true, "required": true, "default": "hidden"},
	{"key": "file", "type": "attachment", "site": true}]`

func TestValues(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", allTypes)
		for _, c := range []struct {
			config []string
			want   string
		}{
			{nil, "config.text required"},
			{[]string{"text", `"x"`, "nix", "1"}, "config.nix invalid"},
			{[]string{"text", "1"}, "config.text invalid"},
			{[]string{"text", `"` + strings.Repeat("ä", 20_001) + `"`}, "config.text long"},
			{[]string{"text", `"x"`, "n", `"7"`}, "config.n invalid"},
			{[]string{"text", `"x"`, "n", `1e999`}, "config.n invalid"},
			{[]string{"text", `"x"`, "on", `"Yes"`}, "config.on invalid"},
			{[]string{"text", `"x"`, "size", `"M"`}, "config.size choice"},
			{[]string{"text", `"x"`, "any", `"` + strings.Repeat("x", 64<<10) + `"`}, "config.any long"},
			{[]string{"text", `"x"`, "token", `"x"`, "file", `"x"`}, "config.token invalid, config.file invalid"},
		} {
			_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Config: given(c.config...)})
			if blames(err) != c.want {
				r.Errorf("%.60q: %s, want %s", c.config, blames(err), c.want)
			}
		}
		placed := r.place(r.caller, s, p, "text", `"<x>"`, "any", `{"b":[1.0,null]}`, "size", `"L"`, "server", `"secretive"`, "on", "false")
		if want := `{"text":"<x>","n":"7","on":false,"size":"L","any":{"b":[1.0,null]},"area":""}`; placed.Values != want {
			r.Errorf("values %s, want %s", placed.Values, want)
		}
		if want := `{"any":{"b":[1.0,null]},"on":false,"server":"secretive","size":"L","text":"<x>"}`; placed.Config != want {
			r.Errorf("config %s, want %s", placed.Config, want)
		}
		r.wants("the manifest", s, "app@1"+placed.Values)
		for _, config := range [][]string{{"text", `"x"`}, nil} { // that a value is missing does not matter then
			again, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Config: given(config...)})
			if blames(err) != "app_id unique" {
				r.Errorf("twice, with values %q: %+v, %v", config, again, err)
			}
		}
		changed := r.change(r.caller, s, p, PlacementDraft{Config: given("any", "null", "n", "8", "size", "null")})
		if want := `{"text":"<x>","n":8,"on":false,"area":""}`; changed.Values != want {
			r.Errorf("changed: %s, want %s", changed.Values, want)
		}
		if _, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Config: given("text", "null")}); blames(err) != "config.text required" {
			r.Errorf("a required one taken away: %v", err)
		}
		off := r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(false), Config: given("text", "null")})
		if off.Running != 0 || off.Held != "" {
			r.Errorf("%+v", off)
		}
		if _, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(true)}); blames(err) != "config.text required" {
			r.Errorf("enabled without it: %v", err)
		}
	})
}

func TestPlacementFaults(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		for name, c := range map[string]struct {
			d    PlacementDraft
			want string
		}{
			"no app":      {PlacementDraft{}, "app_id required"},
			"no such app": {PlacementDraft{AppID: patch.Of(p.ID + 99)}, "app_id invalid"},
			"version":     {PlacementDraft{AppID: patch.Of(p.ID), Version: patch.Of(int64(9))}, "version invalid"},
			"version 0":   {PlacementDraft{AppID: patch.Of(p.ID), Version: patch.Of(int64(0))}, "version invalid"},
			"path":        {PlacementDraft{AppID: patch.Of(p.ID), Paths: patch.Of([]string{"shop"})}, "paths invalid"},
			"51 paths":    {PlacementDraft{AppID: patch.Of(p.ID), Paths: patch.Of(make([]string, 51))}, "paths long"},
			"long path":   {PlacementDraft{AppID: patch.Of(p.ID), Paths: patch.Of([]string{"/" + strings.Repeat("x", maxPath)})}, "paths invalid"},
			"not UTF-8":   {PlacementDraft{AppID: patch.Of(p.ID), Paths: patch.Of([]string{"/\xff"})}, "paths invalid"},
			"control":     {PlacementDraft{AppID: patch.Of(p.ID), Paths: patch.Of([]string{"/\n"})}, "paths invalid"},
			"position":    {PlacementDraft{AppID: patch.Of(p.ID), Position: patch.Of(int64(1) << 60)}, "position invalid"},
			"below zero":  {PlacementDraft{AppID: patch.Of(p.ID), Position: patch.Of(int64(-1) << 60)}, "position invalid"},
		} {
			if _, err := r.Place(r.Context(), r.caller, s.ID, c.d); blames(err) != c.want {
				r.Errorf("%s: %s, want %s", name, blames(err), c.want)
			}
		}
	})
}

// Null removes a value, also of a field that the app no longer has.
func TestRemoveUnknownValue(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", `[{"key":"a","type":"string","site":true}]`)
		r.place(r.caller, s, p, "a", `"x"`)
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of("[]")})
		if placed := r.change(r.caller, s, p, PlacementDraft{Config: given("a", "null")}); placed.Config != "{}" {
			r.Errorf("it has %s", placed.Config)
		}
	})
}

// If fields have one key, the first counts, and it is secret if any of them is. Those without a key count for nothing.
func TestFieldsOfOneKey(t *testing.T) {
	t.Parallel()
	all := keyed(`[{"key":"a","site":true,"type":"number"},{"markdown":"x"},{"key":"b","site":true},{"key":"a","secret":true}]`)
	if len(all) != 2 || all[0].Type != "number" || !all[0].Hidden || all[1].Key != "b" || all[1].Hidden {
		t.Errorf("%+v", all)
	}
}

// Apps run in the order of their positions, and by id if these are equal.
func TestPositions(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		var apps []plugin.Plugin
		for i := range 3 {
			apps = append(apps, r.app(r.caller, fmt.Sprint("app", i), ""))
		}
		for _, i := range []int{2, 1, 0} {
			r.place(r.caller, s, apps[i])
		}
		r.wants("as placed", s, "app2@1{} app1@1{} app0@1{}")
		r.change(r.caller, s, apps[0], PlacementDraft{Position: patch.Of(int64(1))})
		r.wants("a tie", s, "app0@1{} app2@1{} app1@1{}")
		found, err := r.Apps(r.Context(), r.caller, s.ID, page.Page{Limit: 2})
		if err != nil || found.Count != 3 || !found.More || found.Items[1].AppID != apps[2].ID {
			r.Errorf("%+v, %v", found, err)
		}
		if err := r.Remove(r.Context(), r.caller, s.ID, apps[2].ID); err != nil {
			r.Fatal(err)
		}
		r.wants("removed", s, "app0@1{} app1@1{}")
		r.change(r.caller, s, apps[0], PlacementDraft{Position: patch.Of(int64(maxPosition))})
		last := r.place(r.caller, s, apps[2])
		r.change(r.caller, s, apps[2], PlacementDraft{Position: patch.Of(last.Position)}) // it can be sent back as it was read
		r.wants("after the last there can be", s, "app1@1{} app0@1{} app2@1{}")
		if got, err := r.Get(r.Context(), r.caller, s.ID); err != nil || got.AppsCount != 3 || got.Revision != 8 {
			r.Errorf("%+v, %v", got, err)
		}
	})
}

// A site has at most 200 apps, and a full one can be changed.
func TestFullSite(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		for i := range 201 {
			p, err := r.plugins.Create(r.Context(), r.caller, plugin.Draft{Name: patch.Of(fmt.Sprint("app ", i))})
			if err != nil {
				r.Fatal(err)
			}
			if i < 200 {
				r.place(r.caller, s, p)
				continue
			}
			if _, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)}); blames(err) != "app_id invalid" {
				r.Errorf("one more: %v", err)
			}
		}
		found, err := r.Apps(r.Context(), r.caller, s.ID, page.Page{Limit: 1})
		if err != nil || found.Count != 200 {
			r.Fatalf("%d apps, %v", found.Count, err)
		}
		if _, err := r.Change(r.Context(), r.caller, s.ID, found.Items[0].AppID, PlacementDraft{Enabled: patch.Of(false)}); err != nil {
			r.Error(err)
		}
	})
}

// The size of the values on one site is bounded.
func TestConfigBytes(t *testing.T) {
	each(t, func(r rig) {
		const schema = `[{"key": "a", "type": "json"}, {"key": "b", "type": "json"}, {"key": "c", "type": "json"}]`
		big := `"` + strings.Repeat("x", 60<<10) + `"`
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", schema), r.app(r.caller, "q", schema)
		r.place(r.caller, r.site(r.caller, "elsewhere"), p, "a", big, "b", big, "c", big) // does not count for other sites
		r.place(r.caller, s, p, "a", big, "b", big)
		r.change(r.caller, s, p, PlacementDraft{Config: given("c", big)})
		if _, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(q.ID), Config: given("a", big, "b", big)}); blames(err) != "config long" {
			r.Errorf("too many bytes: %v", err)
		}
		r.place(r.caller, s, q, "a", big)
		if _, err := r.Change(r.Context(), r.caller, s.ID, q.ID, PlacementDraft{Config: given("b", big)}); blames(err) != "config long" {
			r.Errorf("too many bytes later: %v", err)
		}
		r.change(r.caller, s, q, PlacementDraft{Config: given("a", "null", "b", big)})
		off := PlacementDraft{AppID: patch.Of(r.app(r.caller, "large", takes(200)).ID), Enabled: patch.Of(false)}
		if _, err := r.Place(r.Context(), r.caller, s.ID, off); err != nil {
			r.Errorf("defaults of what is off count: %v", err)
		}
	})
}

// A placement can be switched off even if its values are wrong by now.
func TestOffWithUnfitValues(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", `[{"key": "size", "type": "string", "site": true}]`)
		r.place(r.caller, s, p, "size", `"large"`)
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(`[{"key": "size", "type": "number", "site": true}]`)})
		r.held("a string is given", s, p, 1, "config.size: Must be a number.")
		r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(false)})
		r.wants("off", s, "")
		if _, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(true)}); blames(err) != "config.size invalid" {
			r.Errorf("on again: %v", err)
		}
		r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(true), Config: given("size", "7")})
		r.wants("with a number", s, `app@2{"size":7}`)
	})
}

// A placement can be sent back as it was read, even if the app has changed and would refuse these values now.
func TestSentBackAfterTheSchemaChanged(t *testing.T) {
	each(t, func(r rig) {
		const fields = `[{"key": "text", "type": "string", "site": true}, {"key": "old", "type": "json"}, {"key": "size", "type": "string", "site": true}]`
		s, a := r.site(r.caller, "Shop"), r.app(r.caller, "banner", fields)
		r.place(r.caller, s, a, "text", `"Hello"`, "old", `{"a":  1}`, "size", `"large"`)
		r.patch(r.caller, a.ID, plugin.Draft{ConfigSchema: patch.Of(`[{"key": "text", "type": "string", "site": true}, {"key": "size", "type": "number", "site": true}]`)})
		read, err := r.App(r.Context(), r.caller, s.ID, a.ID)
		if err != nil {
			r.Fatal(err)
		}
		if read.Held == "" {
			r.Fatalf("%+v", read)
		}
		whole := PlacementDraft{
			AppID: patch.Of(a.ID), Enabled: patch.Of(true), Position: patch.Of(read.Position), Version: patch.Field[int64]{Set: true, Null: true},
			Paths: patch.Of(read.Paths), Config: given("size", `"large"`, "old", ` {"a":1}`, "text", `"Hello"`),
		}
		if back := r.change(r.caller, s, a, whole); !reflect.DeepEqual(back, read) {
			r.Errorf("sent back: %+v, was %+v", back, read)
		}
		whole.Position = patch.Of(read.Position + 1)
		if moved := r.change(r.caller, s, a, whole); moved.Position != read.Position+1 || moved.Held != read.Held {
			r.Errorf("moved: %+v, was %+v", moved, read)
		}
		whole.Config = given("size", `"larger"`)
		if _, err := r.Change(r.Context(), r.caller, s.ID, a.ID, whole); blames(err) != "config.size invalid" {
			r.Errorf("another value that does not fit: %v", err)
		}
	})
}

// A number is not equal to a string of its digits, not in choices either.
func TestChoices(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", `[{"key": "n", "type": "choice", "site": true, "choices": [1, "2", "\u0041", true, 3.0, 0]}]`)
		placed := r.place(r.caller, s, p)
		for value, want := range map[string]string{`1`: "", `3`: "", `10e-1`: "", `-0.0`: "", `"2"`: "", `"A"`: "", `"\u0041"`: "", `true`: "", `"1"`: "config.n choice", `2`: "config.n choice", `"true"`: "config.n choice"} {
			_, err := r.Change(r.Context(), r.caller, s.ID, placed.AppID, PlacementDraft{Config: given("n", value)})
			if blames(err) != want {
				r.Errorf("%s: %v", value, err)
			}
		}
		_, err := r.Change(r.Context(), r.caller, s.ID, placed.AppID, PlacementDraft{Config: given("n", `"`+strings.Repeat("x", maxJSON)+`"`)})
		if blames(err) != "config.n long" {
			r.Error(err)
		}
		p = r.app(r.caller, "without", `[{"key": "n", "type": "choice", "site": true}]`)
		_, err = r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Config: given("n", `"a"`)})
		if blames(err) != "config.n choice" || !strings.Contains(err.Error(), "has no choices") {
			r.Error(err)
		}
	})
}

// Checking a value takes time proportional to its length, however many choices there are, because other writers wait
// meanwhile.
func TestManyChoices(t *testing.T) { // not parallel: it measures
	s := newSchema(`[{"key": "n", "type": "choice", "choices": [` + strings.Repeat(`"a",`, 50_000) + `"b"]}]`)
	took := time.Hour // the fastest of several runs, because the machine may be busy
	for range 5 {
		began := time.Now()
		for value, want := range map[string]string{`"b"`: "", `"` + strings.Repeat("x", 60_000) + `"`: "config.n choice"} {
			if faults := s.faults(values{"n": json.RawMessage(value)}, true); blames(faults.Err()) != want {
				t.Errorf("%.10s: %v", value, faults)
			}
		}
		took = min(took, time.Since(began))
	}
	if *timed && took > time.Second {
		t.Errorf("it took %v", took)
	}
}

// Even for a large schema, the faults of wrong values are readable and what a page gets is bounded.
func TestLargeSchemas(t *testing.T) {
	each(t, func(r rig) {
		var many []string
		for i := range 300 {
			many = append(many, fmt.Sprintf(`{"key": "setting_%d", "site": true}`, i))
		}
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "many", "["+strings.Join(many, ",")+"]")
		var wrong []string
		for i := range 1000 {
			wrong = append(wrong, fmt.Sprint("x", i), "1")
		}
		_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Config: given(wrong...)})
		if n := len(fmt.Sprint(err)); err == nil || n > 64<<10 || !strings.Contains(err.Error(), "it has setting_0, ") {
			r.Errorf("%d bytes are said of 1,000 wrong keys: %.100v", n, err)
		}
		r.place(r.caller, s, p)
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(strings.ReplaceAll("["+strings.Join(many, ",")+"]", `"site"`, `"required": 1, "site"`))})
		r.held("300 values are required", s, p, 1, "; and 290 more")

		big := `[{"key": "text", "site": true, "default": "` + strings.Repeat("x", 200<<10) + `"}]`
		q, o := r.app(r.caller, "q", big), r.app(r.caller, "o", big)
		r.place(r.caller, s, q)
		if _, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(o.ID)}); blames(err) != "config long" {
			r.Errorf("large defaults twice: %v", err)
		}
		r.patch(r.caller, q.ID, plugin.Draft{ConfigSchema: patch.Of(strings.Replace(big, "xx", strings.Repeat("x", 100<<10), 1))})
		r.held("a default that is too large", s, q, 1, "at most 262144 bytes")
		small := r.app(r.caller, "small", `[{"key": "text", "site": true}]`)
		r.place(r.caller, s, small)
		r.patch(r.caller, small.ID, plugin.Draft{ConfigSchema: patch.Of(big)})
		r.held("a default that is too large beside the others", s, small, 1, "at most 262144 bytes")
		r.change(r.caller, s, q, PlacementDraft{Enabled: patch.Of(false)})
	})
}

// The paths on a site are bounded in the form that pages get, in which one character may take six percent codes.
func TestManyPaths(t *testing.T) {
	each(t, func(r rig) {
		long := func(n int) patch.Field[[]string] {
			var paths []string
			for i := range n {
				paths = append(paths, fmt.Sprint("/", i, strings.Repeat("🙂", 900)))
			}
			return patch.Of(paths)
		}
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", `[{"key": "text", "site": true}]`), r.app(r.caller, "q", "[]")
		elsewhere := r.site(r.caller, "elsewhere")
		r.place(r.caller, elsewhere, q)
		r.change(r.caller, elsewhere, q, PlacementDraft{Paths: long(10)}) // does not count for other sites
		place := func(p plugin.Plugin, paths patch.Field[[]string]) error {
			_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Paths: paths})
			return err
		}
		if err := place(p, long(13)); blames(err) != "paths long" || !strings.Contains(err.Error(), "at most 262144 bytes together") {
			r.Errorf("too many for a site: %v", err)
		}
		if err := place(p, long(10)); err != nil {
			r.Error(err)
		}
		if err := place(q, long(10)); blames(err) != "paths long" {
			r.Errorf("too many beside others: %v", err)
		}
		if err := place(q, long(2)); err != nil {
			r.Error(err)
		}
		if apps := r.history(s)[0].Apps; len(apps) < 200<<10 || len(apps) > 257<<10 {
			r.Errorf("a manifest of %d bytes", len(apps))
		}
		if _, err := r.Change(r.Context(), r.caller, s.ID, q.ID, PlacementDraft{Paths: long(3)}); blames(err) != "paths long" {
			r.Errorf("changed: %v", err)
		}
		r.change(r.caller, s, p, PlacementDraft{Paths: long(9)})
		r.change(r.caller, s, q, PlacementDraft{Paths: long(3)})

		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { // as if placed before there was a bound
			return db.Exec(ctx, tx, `UPDATE placements SET paths = $1`, list(long(20).Value))
		})
		if err != nil {
			r.Fatal(err)
		}
		r.change(r.caller, s, p, PlacementDraft{Paths: long(20), Config: given("text", `"x"`)}) // it can be sent back as it was read
		r.change(r.caller, s, p, PlacementDraft{Paths: patch.Of([]string{})})
	})
}
