package server_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"html"
	"io"
	"mime/multipart"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"foyer/client"
	"foyer/internal/base/digest"
	"foyer/internal/config"
	"foyer/internal/face/console/editor"
)

// versions returns the number of an app's versions.
func versions(t *testing.T, s *running, app int64) int {
	t.Helper()
	return must(s.ListVersions(t.Context(), app, client.Range{Limit: 1}))(t).Count
}

// hidden returns the values of the hidden fields with a name on a page.
func (p shown) hidden(name string) []string {
	var all []string
	for _, found := range regexp.MustCompile(`name="`+name+`" value="([^"]*)"`).FindAllStringSubmatch(p.body, -1) {
		all = append(all, html.UnescapeString(found[1]))
	}
	return all
}

// Several files are edited on one page and saved as one version. The review shows the changes first, and saves nothing.
func TestConsoleManyFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Many"}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app) + "/source"
		made := v.post(page, "do", "save", "filename", "site.ts", "sha256", "", "text", "import './lib/a'\n", "filename", "lib/a.ts", "sha256", "", "text", "export {}\n")
		v.want(200, "2 files are saved.", made)
		if n := versions(t, s, app); n != 1 {
			t.Errorf("%d versions", n)
		}
		both := v.get(page + "?file=site.ts&file=lib/a.ts")
		v.want(200, `</svg><bdi>lib</bdi></summary>`, both)
		hashes := both.hidden("sha256")
		if len(hashes) != 2 {
			t.Fatal(hashes)
		}
		form := []string{"filename", "site.ts", "sha256", hashes[0], "text", "export const x = ;\n", "filename", "lib/a.ts", "sha256", hashes[1], "text", "export {}\n", "delete", "lib/a.ts"}
		review := v.post(page, append([]string{"do", "review"}, form...)...)
		for _, want := range []string{"Changes that saving makes", "site.ts would not compile.", "Nothing is saved yet.", `<td class="sign">−</td><td class="text"><code>export {}`, "export const x = ;\n</textarea>", `value="lib/a.ts" checked`, `data-line="1"`} {
			v.want(200, want, review)
		}
		if n := versions(t, s, app); n != 1 {
			t.Errorf("a review made a version: %d", n)
		}
		saved := v.post(page, append([]string{"do", "save"}, form...)...)
		v.want(200, "It does not compile.", saved)
		v.want(200, "site.ts is saved. lib/a.ts is deleted.", saved)
		source := must(s.GetSource(t.Context(), app))(t).Source
		if versions(t, s, app) != 2 || len(source) != 1 || source["site.ts"] != "export const x = ;\n" {
			t.Errorf("%q", source)
		}
		v.want(200, "There are no changes", v.post(page, "do", "review"))
		same := []string{"do", "save", "message", "Why", "filename", "site.ts", "sha256", saved.hidden("sha256")[0], "text", "export const x = ;\n"}
		v.want(200, "Nothing was changed, so there is no new version.", v.post(page, same...))
		v.want(200, "<span>b.md is saved.</span>", v.post(page, append(same, "filename", "b.md", "sha256", "", "text", "b")...))
		member := visit(t, s, join(t, s))
		member.want(403, "", member.post(page, "do", "review", "filename", "x.ts", "sha256", "", "text", "x"))
		v.want(404, "no file of this name", v.get(page+"?file=site.ts&file=none.ts"))
		v.want(400, "Choose at most 50 at a time.", v.get(page+"?file=site.ts"+strings.Repeat("&file=site.ts", 50)))
	})
}

// An open file that was not edited stays as somebody else has changed or deleted it, whatever is saved with it.
func TestConsoleOpenFileIsNoEdit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		const before, theirs = "export const a = 1\r\n//\n", "export const a = 2\r\n"
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Open", Source: client.Files{"site.ts": "1", "lib.ts": before, "old.ts": "3", "a.png": "\x89PNG\x00"}}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app) + "/source"
		form := []string{"no_text", "a.png"}
		for _, file := range []string{"site.ts", "a.png", "lib.ts", "old.ts"} {
			form = append(form, "filename", file, "sha256", v.opened(page+"?file="+file))
		}
		form = append(form, "text", "mine", "text", before, "text", "3")
		must(s.UpdateSource(t.Context(), app, client.SourcePatch{Source: client.FileEdits{"lib.ts": new(theirs), "old.ts": nil, "a.png": new("\x89PNG\x01")}}))(t)
		refused := v.post(page, append([]string{"do", "save", "message", strings.Repeat("x", 501)}, form...)...)
		v.want(400, "mine</textarea>", refused)
		v.want(400, theirs+"</textarea>", refused)
		if names := refused.hidden("filename"); !slices.Equal(names, []string{"site.ts", "a.png", "lib.ts"}) {
			t.Error(names)
		}
		if pictures := refused.hidden("no_text"); !slices.Equal(pictures, []string{"a.png"}) { // the others would be sent as texts
			t.Error(pictures)
		}
		saved := v.post(page, append([]string{"do", "save"}, form...)...)
		v.want(200, "site.ts is saved.", saved)
		source := must(s.GetSource(t.Context(), app))(t).Source
		if source["site.ts"] != "mine" || source["lib.ts"] != theirs || source["a.png"] != "\x89PNG\x01" || len(source) != 3 {
			t.Errorf("%q", source)
		}
	})
}

// If a new file is refused, as for having the name of an open one, its text is kept, and so are those of the files after it.
func TestConsoleNewFileOfATakenName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		source := client.Files{"site.ts": "1", "lib.ts": "2", "a.png": "\x89PNG\x00"}
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Taken", Source: source}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app) + "/source"
		hash := func(file string) string { return v.opened(page + "?file=" + file) }
		for _, name := range []string{"a.png", "lib.ts"} {
			refused := v.post(page, "do", "save", "filename", name, "sha256", "", "text", "new",
				"no_text", "a.png", "filename", "a.png", "sha256", hash("a.png"),
				"delete", "lib.ts", "filename", "lib.ts", "sha256", hash("lib.ts"), "text", "2",
				"filename", "site.ts", "sha256", hash("site.ts"), "text", "edited")
			v.want(400, "There is a file "+name+": open it to change it.", refused)
			var texts []string
			for _, found := range regexp.MustCompile(`(?s)<textarea[^>]*>\n(.*?)</textarea>`).FindAllStringSubmatch(refused.body, -1) {
				texts = append(texts, found[1])
			}
			if !slices.Equal(texts, []string{"new", "2", "edited"}) {
				t.Errorf("%s: %q", name, texts)
			}
		}
		long := v.post(page, "do", "save", "message", strings.Repeat("x", 501), "filename", "new.ts", "sha256", "", "text", "typed")
		v.want(400, "typed</textarea>", long)
	})
}

// If several users save the same file at the same moment, one save succeeds; if each saves another file, all succeed.
func TestConsoleSavesAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		names := []string{"a.ts", "b.ts", "c.ts"}
		source := client.Files{}
		for _, name := range names {
			source[name] = "export {}\n"
		}
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "At once", Source: source}))(t).ID
		page := "/console/@current/apps/" + itoa(app) + "/source"
		save := func(text string, fileOf func(i int) string) (saved, told int) {
			forms := make([]func(), len(names))
			pages := make([]shown, len(names))
			for i := range pages {
				v, file := visit(t, s, s.key), fileOf(i)
				form := []string{"do", "save", "filename", file, "sha256", v.opened(page + "?file=" + file), "text", text + itoa(int64(i))}
				forms[i] = func() { pages[i] = v.post(page, form...) }
			}
			var all sync.WaitGroup
			for _, send := range forms {
				all.Go(send)
			}
			all.Wait()
			for _, p := range pages {
				if strings.Contains(p.body, "is saved.") {
					saved++
				} else if strings.Contains(p.body, "a.ts has changed since you opened it: somebody else changed it, or an earlier save of yours") {
					told++
				}
			}
			return saved, told
		}
		if saved, told := save("// first ", func(int) string { return "a.ts" }); saved != 1 || told != 2 {
			t.Errorf("%d are told that it is saved, %d that somebody else was first", saved, told)
		}
		if saved, _ := save("// then ", func(i int) string { return names[i] }); saved != 3 {
			t.Errorf("%d of three files are saved", saved)
		}
	})
}

// pack makes a zip from names and contents.
func pack(t *testing.T, files ...string) []byte {
	t.Helper()
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for i := 0; i < len(files); i += 2 {
		must(io.WriteString(must(archive.Create(files[i]))(t), files[i+1]))(t)
	}
	check(t, archive.Close())
	return packed.Bytes()
}

// upload sends a form with a file.
func (v *visitor) upload(path string, file []byte, form ...string) shown {
	v.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for i := 0; i < len(form); i += 2 {
		if err := parts.WriteField(form[i], form[i+1]); err != nil {
			v.Fatal(err)
		}
	}
	_, err := must(parts.CreateFormFile("zip", "a.zip"))(v.T).Write(file)
	if err != nil || parts.Close() != nil {
		v.Fatal(err)
	}
	return v.send("POST", path, body.String(), "Content-Type", parts.FormDataContentType(), "Sec-Fetch-Site", "same-origin")
}

// A downloaded folder can be uploaded again; its changes are shown first.
func TestConsoleFolder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		id := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "My app!"}))(t).ID
		picture := "\x89PNG\x00"
		must(s.UpdateSource(t.Context(), id, client.SourcePatch{Source: client.FileEdits{"site.ts": new("export {}\r\n"), "img/a.png": &picture}}))(t)
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(id) + "/source"
		down := v.get(page + "/zip")
		if down.header.Get("Content-Disposition") != `attachment; filename="My-app.zip"` {
			t.Error(down.header)
		}
		v.want(200, "There are no changes", v.upload(page+"/upload", []byte(down.body), "do", "review", "exact", "on"))

		changed := pack(t, "x/site.ts", "export const a = 1\n", "x/node_modules/y.ts", "", "x/.git/config", "", "x/a.exe", "\x00")
		review := v.upload(page+"/upload", changed, "do", "review", "exact", "on")
		for _, want := range []string{"Changes that saving makes", "export const a = 1", "img/a.png", "Left out", "a.exe"} {
			v.want(200, want, review)
		}
		confirm := []string{"do", "save", "exact", "on", "zip", review.hidden("zip")[0], "etag", review.hidden("etag")[0]}
		if n := versions(t, s, id); n != 1 {
			t.Errorf("a review made a version: %d", n)
		}
		v.want(200, "site.ts is saved. img/a.png is deleted. a.exe is left out.", v.post(page+"/upload", confirm...))
		if source := must(s.GetSource(t.Context(), id))(t).Source; len(source) != 1 || source["site.ts"] != "export const a = 1\n" {
			t.Errorf("%q", source)
		}
		v.want(200, "Nothing was changed, so there is no new version. a.exe is left out.", v.post(page+"/upload", confirm...))
		must(s.UpdateSource(t.Context(), id, client.SourcePatch{Source: client.FileEdits{"site.ts": new("theirs")}}))(t)
		v.want(412, "", v.post(page+"/upload", confirm...))
		for _, wrong := range [][]byte{nil, []byte("PK"), pack(t), pack(t, "../a.ts", "x"), pack(t, "a.ts", "", "a.ts", "")} {
			v.want(400, "", v.upload(page+"/upload", wrong, "do", "save"))
		}
		if n := versions(t, s, id); n != 3 {
			t.Errorf("%d versions", n)
		}
		member := visit(t, s, join(t, s))
		member.want(403, "", member.upload(page+"/upload", changed, "do", "save"))
		v.want(200, "empty.css is saved.", v.upload(page+"/upload", pack(t, "site.ts", "theirs", "empty.css", ""), "do", "save"))
	})
}

// A file that would not be read from a zip is not deleted because it is not in it: uploading a downloaded folder
// changes nothing.
func TestConsoleFolderOfHiddenFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		source := client.Files{"site.ts": "1", ".envrc": "2", "src/.hid/y.ts": "3", "b.ts": "4", "c.ts": "5", "a.js.map": "6"}
		id := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Hidden", Source: source}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(id) + "/source"
		v.want(200, "There are no changes", v.upload(page+"/upload", []byte(v.get(page+"/zip").body), "do", "review", "exact", "on"))
		v.want(200, "c.ts is deleted. b.ts is left out.", v.upload(page+"/upload", pack(t, "site.ts", "1", "b.ts", "\x00"), "do", "save", "exact", "on"))
	})
}

// A zip that fits into a form still fits after the review, whatever files are left out.
func TestConsoleFolderOfAWholeProject(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		id := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Project"}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(id) + "/source/upload"
		random := make([]byte, 7<<20)
		_, _ = rand.Read(random)
		large := string(random)
		review := v.upload(page, pack(t, "x/site.ts", "1", "x/a.exe", "\x00", "x/node_modules/y", large, "x/site.js.map", large), "do", "review")
		v.want(200, "a.exe", review)
		if len(review.body) > 1<<20 {
			t.Errorf("a page of %d bytes", len(review.body))
		}
		v.want(200, "site.ts is saved. a.exe is left out.", v.post(page, "do", "save", "zip", review.hidden("zip")[0], "etag", review.hidden("etag")[0]))
	})
}

// A refused upload is shown again, with its message and the changes that saving it would make now.
func TestConsoleFolderRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		id := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Folder", Source: client.Files{"site.ts": "before"}}))(t).ID
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(id) + "/source/upload"
		save := func(reviewed shown, message string) shown {
			t.Helper()
			return v.post(page, "do", "save", "zip", reviewed.hidden("zip")[0], "etag", reviewed.hidden("etag")[0], "exact", reviewed.hidden("exact")[0], "message", message)
		}
		long := strings.Repeat("x", 501)
		refused := save(v.upload(page, pack(t, "site.ts", "after"), "do", "review", "exact", "on"), long)
		for _, want := range []string{`name="message" aria-invalid="true" aria-describedby="faults" value="` + long, `<td class="sign">−</td><td class="text"><code>before`} {
			v.want(400, want, refused)
		}
		must(s.UpdateSource(t.Context(), id, client.SourcePatch{Source: client.FileEdits{"site.ts": new("theirs"), "new.ts": new("")}}))(t)
		refused = save(refused, "Why")
		for _, want := range []string{"Somebody else has changed the app", `name="message"  value="Why"`, `<td class="sign">−</td><td class="text"><code>theirs`, "new.ts"} {
			v.want(412, want, refused)
		}
		v.want(200, "site.ts is saved. new.ts is deleted.", save(refused, "Why"))
		if made := must(s.GetVersion(t.Context(), id, 3))(t); made.Message != "Why" {
			t.Errorf("%+v", made)
		}
	})
}

// Browsers get the editor as it is checked in, and only the page of a file requests it.
func TestConsoleEditor(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	got := browse(t, "GET", s.URL+editor.Script.Path, nil)
	if got.status != 200 || !strings.Contains(got.body, "MIT License") || got.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%d, %v", got.status, got.header)
	}
	furnish(t, s)
	var with []string
	for path, page := range visit(t, s, s.key).wander("/console") {
		if strings.Contains(page.body, editor.Script.Path) {
			with = append(with, path)
		}
	}
	if len(with) == 0 || slices.ContainsFunc(with, func(path string) bool { return !strings.Contains(path, "/source") }) {
		t.Error(with)
	}
}

// A form about a deleted app shows what the user has written, but not what was there before or what they have chosen.
func TestConsoleGivesBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	const gone = "/console/@current/apps/99"
	for _, form := range [][]string{
		{"/upgrade", "do", "upgrade", "tag", "v1.1.0", "etag", `"x"`},
		{"/place", "do", "place", "site", "12"},
		{"/source", "do", "save", "filename", "a.ts", "sha256", digest.SHA256("let a\n"), "text", "let a\r\n"},
	} {
		got := v.post(gone+form[0], form[1:]...)
		v.want(404, "It is gone", got)
		v.lacks(404, "what you typed", got)
	}
	got := v.post(gone+"/source", "do", "save", "message", "Why", "filename", "a.ts", "sha256", digest.SHA256("let a\n"), "text", "let a\r\n",
		"filename", "b.ts", "sha256", digest.SHA256("let b\n"), "text", "let b = 1\r\n", "filename", "new.ts", "sha256", "", "text", "let c\r\n")
	for _, want := range []string{"A message <textarea", "Text of b.ts <textarea", "\nlet b = 1\n</textarea>", "Text of new.ts <textarea"} {
		v.want(404, want, got)
	}
	if strings.Count(got.body, "<textarea") != 3 {
		t.Errorf("shows what nobody wrote:\n%s", got.body)
	}
}

// If a user may no longer do what a form asks for, they get back what they have written.
func TestConsoleGivesBackWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1")
	v := visit(t, s, join(t, s))
	must(s.Change(t.Context(), client.OrganizationPatch{MembersCanManageApps: new(false)}))(t)
	about := "/console/@current/apps/" + itoa(app.ID)
	for path, do := range map[string]string{about: "describe", "/console/@current/apps/new": "source", "/console/@current/sites": "create"} {
		got := v.post(path, "do", do, "name", "What I wrote", "was.description", "as it was", "description", "as it was")
		v.want(403, "hat you typed", got)
		if strings.Count(got.body, "\nWhat I wrote</textarea>") != 1 || strings.Contains(got.body, "\nas it was</textarea>") {
			t.Errorf("%s:\n%s", path, got.body)
		}
	}
	v.want(403, "\nlet b = 1</textarea>", v.post(about+"/source", "do", "save", "filename", "b.ts", "sha256", "", "text", "let b = 1"))
}
