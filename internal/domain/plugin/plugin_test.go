package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/bundles"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/sandbox/sandboxtest"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/unpack"
	"foyer/internal/infra/upstream/upstreamtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Main(m, map[string]sandbox.Task{bundle.TaskName: bundle.Work, upstream.UnpackTask: unpack.Run})
}

// rig is a service on an empty database, and an organization's owner.
type rig struct {
	Service
	testing.TB
	caller access.Caller
}

func each(t *testing.T, test func(r rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(newRig(t, d)) })
}

func newRig(tb testing.TB, d *db.DB) rig {
	tb.Helper()
	client, children := egress.New(upstreamtest.Allow()), sandbox.New(2, 16, slog.New(slog.DiscardHandler))
	r := rig{TB: tb, Service: Service{
		DB: d, Children: children, Box: seal.Box{Secret: "a secret for tests"}, Upstream: upstream.New(client, children, d.Now),
		Catalog:  upstream.NewCatalog("", client, slog.New(slog.DiscardHandler), d.Now),
		Installs: fair.New(16, 16, "Full"), Diffs: fair.New(16, 16, "Full"), Saves: fair.OneEach(64, "Full"), Searches: fair.OneEach(64, "Full"),
		Bundles: bundles.NewServer(d), Cache: NewCache(),
	}}
	keys := access.NewKeys(d)
	orgs := org.Service{DB: d, Keys: keys}
	o, err := orgs.Create(tb.Context(), "Acme")
	if err != nil {
		tb.Fatal(err)
	}
	var m org.Membership
	err = keys.Change(tb.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		m, err = orgs.InsertMember(tb.Context(), tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: "owner@acme.example"}, Level: access.Owner})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	r.caller = access.Caller{UserID: m.User.ID, Scope: access.All, Level: access.Owner, Organization: o.Organization}
	return r
}

func (r rig) create(d Draft) Plugin {
	r.Helper()
	p, err := r.Create(r.Context(), r.caller, d)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// save sets a file of a plugin, or removes it.
func (r rig) save(id int64, name string, text patch.Field[string]) Sources {
	r.Helper()
	text.Set = true
	s, err := r.UpdateSource(r.Context(), r.caller, id, Draft{}, []source.Edit{{Field: "source", Name: name, Text: text}})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// compiled returns a source with one file.
func (r rig) compiled() build {
	r.Helper()
	made, err := r.compile(r.Context(), r.caller.Organization.ID, map[string]string{"a.md": "a"})
	if err != nil {
		r.Fatal(err)
	}
	return made
}

func (r rig) count(query string) int {
	r.Helper()
	n, err := db.One[int](r.Context(), r.DB, nil, query)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// wantContents counts the contents that are left once the unused ones are removed.
func (r rig) wantContents(want int) {
	r.Helper()
	if err := r.Tidy(r.Context()); err != nil {
		r.Fatal(err)
	}
	if n := r.count(`SELECT COUNT(*) FROM contents`); n != want {
		r.Errorf("%d contents, want %d", n, want)
	}
}

func named(name string) Draft { return Draft{Name: patch.Of(name)} }

// The newest 100 saved versions and all installed ones are kept, whatever made them, and no content that is unused.
func TestPrune(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := host.Repo(r, "app")
		repo.Commit(r, map[string]string{"plugin.json": `{"name": "x"}`, "kept.md": "installed"})
		p, other := r.install(repo), r.create(named("other"))
		r.save(other.ID, "shared.md", patch.Of("installed"))
		for i := range maxSaved + 5 {
			r.save(p.ID, "note.md", patch.Of(fmt.Sprint("note ", i)))
		}
		r.update(p.ID, Draft{ConfigSchema: patch.Of("[]")})
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.Page{Limit: 1000})
		if err != nil || found.Count != maxSaved+1 || found.Items[0].Number != maxSaved+7 || !found.Items[0].Current {
			r.Fatalf("%d versions: %v", found.Count, err)
		}
		if oldest, err := r.Versions(r.Context(), r.caller, p.ID, page.Page{Limit: 1, Offset: maxSaved}); err != nil || len(oldest.Items) != 1 || oldest.More {
			r.Errorf("the last page: %+v, %v", oldest, err)
		}
		versions := found.Items
		if first := versions[len(versions)-1]; first.Number != 1 || first.Commit == "" || versions[len(versions)-2].Number != 8 {
			r.Errorf("the oldest: %+v", versions[len(versions)-2:])
		}
		// plugin.json, kept.md and a note for each saved version, of which the last two have the same
		r.wantContents(maxSaved + 1)
		r.save(other.ID, "site.ts", patch.Of("export const a = 1"))
		if found, err := r.Versions(r.Context(), r.caller, other.ID, page.First); err != nil || found.Count != 2 {
			r.Errorf("the other app has %d versions, %v", found.Count, err)
		}
		r.wantContents(maxSaved + 1 + 2) // with the other's source and bundle
		if err := r.Delete(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		r.wantContents(3)
		if err := r.Delete(r.Context(), r.caller, other.ID); err != nil {
			r.Fatal(err)
		}
		r.wantContents(0)
		for _, table := range []string{"plugin_files", "plugin_versions", "plugin_sources"} {
			if n := r.count(`SELECT COUNT(*) FROM ` + table); n != 0 {
				r.Errorf("%d left in %s", n, table)
			}
		}
	})
}

// No edit is lost when many are made at once, and texts that several apps add while unused ones are removed stay for
// those that use them.
func TestSaveTogether(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				other := r.create(named(fmt.Sprint("other", i)))
				r.save(other.ID, "same.md", patch.Of("the same text"))
				r.save(p.ID, fmt.Sprintf("file%d.md", i), patch.Of("the same text"))
				if err := r.Delete(r.Context(), r.caller, other.ID); err != nil {
					r.Error(err)
				}
				if err := r.Tidy(r.Context()); err != nil {
					r.Error(err)
				}
			})
		}
		all.Wait()
		s, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || len(s.Files) != 8 || r.count(`SELECT COUNT(*) FROM contents`) != 1 {
			r.Errorf("%d files: %v", len(s.Files), err)
		}
	})
}

// Saves of one app wait for each other; each adds its own change.
func TestSavesWaitForTheirTurn(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.Children = sandbox.New(2, 256, slog.New(slog.DiscardHandler))
		const many = 2 * maxRaces
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				edits := []source.Edit{{Field: "source", Name: fmt.Sprintf("file%d.ts", i), Text: patch.Of("export const a = 1")}}
				if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, edits); err != nil {
					r.Error(err)
				}
			})
		}
		all.Wait()
		s, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || len(s.Files) != many {
			r.Errorf("%d files: %v", len(s.Files), err)
		}
	})
}

// A save that changes no text makes neither a version nor activity.
func TestSaveTheSame(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("a"))
		before := r.save(p.ID, "a.md", patch.Of("a"))
		after := r.save(p.ID, "b.md", patch.Field[string]{Null: true})
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
		if err != nil || found.Count != 1 || before.Revision != after.Revision {
			r.Errorf("%d versions: %v", found.Count, err)
		}
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		if err != nil || entries.Count != 2 {
			r.Errorf("%d entries: %v", entries.Count, err)
		}
	})
}

// When the queue is full, nothing changes, and the caller is told to retry.
func TestBusy(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Commit(r, map[string]string{"plugin.json": `{"name": "x"}`, "site.ts": "export const a = 1"})
		p := r.create(named("x"))
		r.Children = sandbox.New(0, 0, slog.New(slog.DiscardHandler))
		edits := []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of("export const a = 1")}}
		_, err := r.UpdateSource(r.Context(), r.caller, p.ID, named("y"), edits)
		if !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			r.Errorf("got %v", err)
		}
		r.Installs = fair.New(0, 0, "No place")
		_, err = r.Create(r.Context(), r.caller, Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL)})
		if !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			r.Errorf("got %v", err)
		}
		r.Saves = fair.New(0, 0, "No place")
		if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, named("y"), edits); !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			r.Errorf("got %v", err)
		}
		r.Diffs = fair.New(0, 0, "No place")
		if _, err = r.Diff(r.Context(), r.caller, p.ID, 1, 0); !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			r.Errorf("got %v", err)
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Name != "x" || r.count(`SELECT COUNT(*) FROM plugins`) != 1 {
			r.Errorf("after: %+v %v", got, err)
		}
	})
}

// An edit with a fault, or over a limit, changes nothing.
func TestRefusedEdits(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("a"))
		many := make([]source.Edit, source.MaxFiles)
		for i := range many {
			many[i] = source.Edit{Field: "source", Name: fmt.Sprint("f", i), Text: patch.Of("")}
		}
		endless := make([]source.Edit, 100_000)
		for i := range endless {
			endless[i] = source.Edit{Field: "source", Name: fmt.Sprintf("../%d", i)}
		}
		big := make([]source.Edit, 11)
		for i := range big {
			big[i] = source.Edit{Field: "source", Name: fmt.Sprint("b", i), Text: patch.Of(strings.Repeat("x", source.MaxFileBytes-1))}
		}
		for name, edits := range map[string][]source.Edit{
			"too many":     many,
			"endless":      endless,
			"too much":     big,
			"too large":    {{Field: "source", Name: "a.ts", Text: patch.Of(strings.Repeat("x", source.MaxFileBytes+1))}},
			"long name":    {{Field: "source", Name: strings.Repeat("x", 201), Text: patch.Of("")}},
			"in a file":    {{Field: "source", Name: "a.md/b/c.ts", Text: patch.Of("")}},
			"outside":      {{Field: "source", Name: "../a.ts", Text: patch.Of("")}},
			"no manifest":  {{Field: "source", Name: "plugin.json", Text: patch.Of("not JSON")}},
			"NUL":          {{Field: "source", Name: "plugin.json", Text: patch.Of(`{"config": [1e999, "\u0000"]}`)}},
			"name twice":   {{Field: "source", Name: "plugin.json", Text: patch.Of(`{"publicJobs": {"j": 1, "j": 2}}`)}},
			"of list form": {{Field: "source", Name: "plugin.json", Text: patch.Of("[]")}},
		} {
			_, err := r.UpdateSource(r.Context(), r.caller, p.ID, named("y"), edits)
			if fault.Is(err, fault.Internal) || err == nil || len(fault.Of(err)) != 1 || fault.Of(err)[0].Field != "source" {
				r.Errorf("%s: %v", name, err)
			}
		}
		s, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || len(s.Files) != 1 || s.Name != "x" {
			r.Errorf("after: %+v %v", s, err)
		}
	})
}

// Too many edits in one request are refused before they are processed.
func TestTooManyEdits(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		edits := make([]source.Edit, 801)
		for i := range edits {
			edits[i] = source.Edit{Field: "f.md", Name: fmt.Sprintf("f%d.md", i), Text: patch.Field[string]{Set: true, Null: true}}
		}
		if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, edits[:800]); err != nil {
			r.Error(err)
		}
		_, err := r.UpdateSource(r.Context(), r.caller, p.ID, named(""), edits)
		if faults := fault.Of(err); len(faults) != 1 || faults[0].Kind != fault.TooLong || faults[0].Field != "source" {
			r.Errorf("got %v", err)
		}
	})
}

// If a plugin gets its first source while it is being removed, the source is removed too.
func TestDeleteDuringFirstSave(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		made := r.compiled()
		start, end := dbtest.Meanwhile(r, r.DB, func() error { return r.Delete(r.Context(), r.caller, p.ID) })
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := r.findOwnMatching(r.Context(), tx, r.caller, p.ID, " FOR UPDATE"); err != nil {
				return err
			}
			start()
			_, err := r.saveSource(r.Context(), tx, r.caller, Sources{Plugin: p}, Draft{}, &made)
			return err
		})
		if end(); err != nil {
			r.Fatal(err)
		}
		if n := r.count(`SELECT COUNT(*) FROM plugins`); n != 0 {
			r.Errorf("%d plugins are left", n)
		}
		r.wantContents(0)
	})
}

// While an organization is being erased, others save their apps.
func TestSaveDuringErasure(t *testing.T) {
	each(t, func(r rig) {
		if dbtest.IsSQLite(r, r.DB) {
			r.Skip("one transaction at a time")
		}
		r.save(r.create(named("erased")).ID, "a.md", patch.Of("a"))
		other, id := newRig(r, r.DB), r.caller.Organization.ID
		p := other.create(named("kept"))
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := cmp.Or(LockAll(ctx, tx, id), r.EraseOrganization(ctx, tx, id)); err != nil {
				return err
			}
			other.save(p.ID, "b.md", patch.Of("b"))
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
		r.wantContents(1)
	})
}

// A cached name must not keep the megabyte that it was cut from in memory.
func TestNameIsACopy(t *testing.T) {
	t.Parallel()
	sent := strings.Repeat(" ", 1<<20) + "x"
	d := Draft{Name: patch.Of(sent)}
	if d.normalize(); d.Name.Value != "x" {
		t.Fatalf("%q", d.Name.Value)
	}
	if unsafe.StringData(d.Name.Value) == unsafe.StringData(sent[1<<20:]) {
		t.Error("the name is a part of what was sent")
	}
}

// A name is stored without the spaces around it, whichever call sets it, and so is a message.
func TestNameIsTrimmed(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named(" created "))
		names := []string{p.Name}
		p, err := r.Update(r.Context(), r.caller, p.ID, named(" updated "))
		names = append(names, p.Name)
		edit := source.Edit{Field: "source", Name: "a.md", Text: patch.Of("a")}
		saved, saveErr := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{Name: patch.Of(" saved "), Message: patch.Of(" why ")}, []source.Edit{edit})
		names = append(names, saved.Name)
		p, upgradeErr := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: named(" upgraded "), Version: patch.Of("1")})
		names = append(names, p.Name)
		if err := errors.Join(err, saveErr, upgradeErr); err != nil || !slices.Equal(names, []string{"created", "updated", "saved", "upgraded"}) {
			r.Errorf("%q, %v", names, err)
		}
		if message := r.versions(p.ID)[0].Message; message != "why" {
			r.Errorf("the message is %q", message)
		}
	})
}
