package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"foyer/client"
	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/face/console/editor"
	"foyer/internal/face/console/markup"
)

// Source shows files of an app, to be edited together and saved as one version.
type Source struct {
	Frame
	App      client.App
	Tree     []branch
	files    []client.SourceFile
	Open     []openFile
	Reviewed bool        // the page shows what a save would change
	Changes  differences // that it would make
	Broken   []client.SourceFile
	Message  string    // of the version, as it is typed
	Unplaced *Unplaced // the app is on no site, and could be
}

// openFile is a file that is edited; one with an empty name is to be added.
type openFile struct {
	client.SourceFile
	Number int // on the page, from 1
	Typed  string
	Text   string // as it is typed, else as it is stored
	Stored string
	Delete bool
}

// ID is the id of its text area.
func (f openFile) ID() string { return numbered("text", f.Number) }

// NameID is the id of the field for the name of a new file.
func (f openFile) NameID() string { return numbered("filename", f.Number) }

// numbered returns the id of a field that a form has several times, from 1.
func numbered(name string, number int) string {
	if number == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(number)
}

// Hash is the digest of its stored text; "": it is to be added.
func (f openFile) Hash() string {
	if f.Filename == "" {
		return ""
	}
	return hashOf(f.Stored)
}

// hashOf returns the digest of a text, whichever its line ends are: browsers send CR LF for each.
func hashOf(text string) string { return digest.SHA256(lineEnds.Replace(text)) }

// IsText reports whether the file can be shown, and changed by hand.
func (f openFile) IsText() bool {
	return utf8.ValidString(f.Text) && !strings.Contains(f.Text, "\x00")
}

// Editor is the path of the script that turns the text areas into editors.
func (s Source) Editor() string { return s.Prefix + editor.Script.Path }

// Others returns the files that are not open.
func (s Source) Others() []string {
	var all []string
	for _, file := range s.files {
		if !s.Opened(file.Filename) {
			all = append(all, file.Filename)
		}
	}
	return all
}

// Opened reports whether a file of the tree is edited on this page.
func (s Source) Opened(name string) bool {
	return slices.ContainsFunc(s.Open, func(f openFile) bool { return f.Filename == name })
}

func showSource(v *visit) (markup.Page, error) {
	app, err := v.source()
	if err != nil {
		return markup.Page{}, err
	}
	page := Source{Frame: v.frameOf(app.App), App: app.App, Tree: treeOf(app.SourceFiles), files: app.SourceFiles, Message: v.line("message")}
	if v.refused != nil {
		page.Open = v.sentFiles(app)
	} else if page.Open, err = v.chosenFiles(app); err != nil {
		return markup.Page{}, err
	}
	placed, err := v.organization.ListSitesOfApp(v.ctx(), app.ID, client.Range{Limit: 1})
	if err == nil && placed.Count == 0 {
		page.Unplaced, err = v.unplaced(app)
	}
	return markup.Fill("source.html", page), err
}

// chosenFiles returns the files that the query names; without a name, a new file.
func (v *visit) chosenFiles(app client.AppSource) ([]openFile, error) {
	names := v.request.URL.Query()["file"]
	if len(names) == 0 {
		names = []string{""}
	}
	if err := checkChosen(names); err != nil {
		return nil, err
	}
	var all []openFile
	for i, name := range names {
		file := openFile{SourceFile: fileOf(app, name), Number: i + 1, Text: app.Source[name], Stored: app.Source[name]}
		if file.Filename != name {
			return nil, fault.New(fault.NotFound, "The app has no file of this name.")
		}
		all = append(all, file)
	}
	return all, nil
}

// sentFiles returns the files of the form: as they are stored now, with the typed texts.
func (v *visit) sentFiles(app client.AppSource) []openFile {
	var all []openFile
	for _, sent := range v.edits() {
		_, there := app.Source[sent.name]
		if sent.untouched() && !there {
			continue // it was deleted meanwhile
		}
		file := openFile{SourceFile: fileOf(app, sent.name), Number: sent.number, Typed: sent.name, Text: app.Source[sent.name], Delete: sent.remove}
		if sent.hash == "" { // it is to be added, whatever is stored
			file.SourceFile, file.Text = client.SourceFile{}, ""
		}
		file.Stored = file.Text
		if sent.typed && !sent.untouched() {
			file.Text = sent.text
		}
		all = append(all, file)
	}
	if len(all) == 0 {
		all = append(all, openFile{Number: 1})
	}
	return all
}

// edit is the form's part about one file.
type edit struct {
	number int // on the page, from 1
	name   string
	hash   string // of the content that was shown, of hashOf; "": it is to be added
	text   string
	typed  bool // a text was sent
	noText bool // it is a picture or similar
	remove bool
}

// untouched reports whether the content is the one that the page was opened with, whatever is stored now.
func (e edit) untouched() bool {
	return e.noText || e.typed && e.hash == hashOf(e.text)
}

// edits returns the edits in the form: it repeats its fields for each file, in one order. A new file may have the name of
// another.
func (v *visit) edits() []edit {
	form := v.request.PostForm
	at := func(name string, i int) (string, bool) {
		if i >= len(form[name]) {
			return "", false
		}
		return strings.ToValidUTF8(form[name][i], "\uFFFD"), true
	}
	all := make([]edit, 0, len(form["filename"]))
	texts := 0
	for i := range form["filename"] {
		name, _ := at("filename", i)
		e := edit{number: i + 1, name: name}
		if e.hash, _ = at("sha256", i); e.hash == "" { // of a new file, without white space around it
			e.name = strings.TrimSpace(name)
		}
		e.noText = e.hash != "" && slices.Contains(form["no_text"], name)
		if !e.noText {
			e.text, e.typed = at("text", texts)
			e.text = lineEnds.Replace(e.text)
			texts++
		}
		e.remove = e.hash != "" && slices.Contains(form["delete"], name)
		all = append(all, e)
	}
	return all
}

// saveFiles saves the texts of files as one version, unless somebody else has changed one of them since the page was
// opened: then the page says so, and saving again overwrites the change.
func saveFiles(v *visit) (next, error) {
	edits := v.edits()
	var names []string
	then, err := v.onApp(func(id int64) (string, error) {
		var of client.AppSource
		patch, err := v.changeFiles(id, func(app client.AppSource, _ string) (client.FileEdits, error) {
			of = app
			return patchOf(app, edits)
		})
		for _, e := range edits {
			if _, there := of.Source[e.name]; !e.remove && (there || patch[e.name] != nil) {
				names = append(names, e.name)
			}
		}
		return whatWasSaved(patch), ofOne(edits, of, err)
	})
	then.path = v.appPath()
	if len(names) > 0 {
		then.path += "/source?" + url.Values{"file": names[:min(len(names), perPage)]}.Encode()
	}
	return then, err
}

// saveTries is how many times a save is tried while the app is being changed.
const saveTries = 5

// changeFiles saves changes of an app's files as one version, with the message of the form. If somebody else changes the
// app meanwhile, it calls change again with the new state, which the ETag tag names.
func (v *visit) changeFiles(id int64, change func(app client.AppSource, tag string) (client.FileEdits, error)) (client.FileEdits, error) {
	for try := 1; ; try++ {
		var tag string
		app, err := v.organization.With(client.ETag(&tag)).GetSource(v.ctx(), id)
		if err != nil {
			return nil, err
		}
		patch, err := change(app, tag)
		if err != nil || len(patch) == 0 {
			return nil, err
		}
		_, err = v.organization.With(client.IfMatch(tag)).UpdateSource(v.ctx(), id, client.SourcePatch{Source: patch, Message: v.line("message")})
		refused, again := errors.AsType[*client.Error](err)
		switch {
		case !again || refused.Status != http.StatusPreconditionFailed:
			return patch, err
		case try == saveTries:
			return nil, refusal(refused.Status, "Others are changing the app at this moment. Save again.")
		}
	}
}

// whatWasSaved describes what a patch has changed.
func whatWasSaved(patch client.FileEdits) string {
	if len(patch) == 0 {
		return "Nothing was changed, so there is no new version."
	}
	var saved, deleted []string
	for name, text := range patch {
		if text == nil {
			deleted = append(deleted, name)
		} else {
			saved = append(saved, name)
		}
	}
	return strings.TrimSpace(became(saved, "saved") + " " + became(deleted, "deleted"))
}

// became says what was done to files; "": there are none.
func became(names []string, what string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return sentence("%s is "+what+".", names[0])
	}
	return fmt.Sprintf("%d files are %s.", len(names), what)
}

// patchOf returns what edits change in an app. Browsers send every line end as CR LF: a stored file with CR LF gets it in
// every line, and a file that was not edited stays as it is.
func patchOf(app client.AppSource, edits []edit) (client.FileEdits, error) {
	patch := client.FileEdits{}
	var refused faults
	for _, e := range edits {
		if e.done(app) {
			continue
		}
		stored, there := app.Source[e.name]
		switch {
		case there && e.hash == hashOf(stored), !there && e.hash == "":
		case e.hash == "":
			refused.add(e.field(app), sentence("There is a file %s: open it to change it.", e.name))
		case !there:
			refused.add(e.field(app), sentence("%s was deleted since you opened it. Save again to keep it as it is here.", e.name))
		default:
			refused.add(e.field(app), sentence("%s has changed since you opened it: somebody else changed it, or an earlier save of yours arrived late. Save again to keep it as it is here; open the page in another tab to see the current one.", e.name))
		}
		switch {
		case e.remove:
			patch[e.name] = nil
		case e.typed || e.hash == "":
			if strings.Contains(stored, "\r\n") {
				e.text = strings.ReplaceAll(e.text, "\n", "\r\n")
			}
			patch[e.name] = &e.text
		}
	}
	return patch, refused.err()
}

// done reports whether the app already has the edit's result: the form was sent twice, or the file not edited.
func (e edit) done(app client.AppSource) bool {
	stored, there := app.Source[e.name]
	if e.remove {
		return !there
	}
	return e.untouched() || there && e.text == lineEnds.Replace(stored)
}

// field returns the id of a file's field on the page.
func (e edit) field(app client.AppSource) string {
	if e.hash == "" || fileOf(app, e.name).Filename == "" {
		return numbered("filename", e.number)
	}
	return numbered("text", e.number)
}

// ofOne moves the API's fault about files to the field of the only file: with several files, the text names the file.
func ofOne(edits []edit, app client.AppSource, err error) error {
	if len(edits) == 1 {
		return asField(err, "source", edits[0].field(app))
	}
	return err
}

// reviewFiles shows what a save would change, and what would not compile.
func reviewFiles(v *visit) (next, error) {
	app, err := v.source()
	if err != nil {
		return next{}, err
	}
	edits := v.edits()
	patch, err := patchOf(app, edits)
	if err != nil {
		return next{}, err
	}
	page := Source{Frame: v.frameOf(app.App), App: app.App, Tree: treeOf(app.SourceFiles), files: app.SourceFiles, Open: v.sentFiles(app), Reviewed: true, Message: v.line("message")}
	if page.Changes, page.Broken, err = v.wouldChange(app, patch); err != nil {
		return next{}, ofOne(edits, app, err)
	}
	for i, file := range page.Open {
		if at := slices.IndexFunc(page.Broken, func(b client.SourceFile) bool { return b.Filename == cmp.Or(file.Filename, file.Typed) }); at >= 0 {
			page.Open[i].Status, page.Open[i].Error, page.Open[i].Line, page.Open[i].Column = "error", page.Broken[at].Error, page.Broken[at].Line, page.Broken[at].Column
		}
	}
	return next{page: new(markup.Fill("source.html", page))}, nil
}

// wouldChange does a dry run of a change of an app's files. It returns the differences, and the files that would not
// compile.
func (v *visit) wouldChange(app client.AppSource, patch client.FileEdits) (differences, []client.SourceFile, error) {
	if len(patch) == 0 {
		return differences{}, nil, nil
	}
	would, err := v.organization.With(client.DryRun()).UpdateSource(v.ctx(), app.ID, client.SourcePatch{Source: patch})
	if err != nil {
		return differences{}, nil, err
	}
	diffs, err := v.console.Compare(v.ctx(), v.caller, app.Source, would.Source)
	if err != nil {
		return differences{}, nil, err
	}
	files := make([]client.FileDiff, len(diffs))
	for i, d := range diffs {
		files[i] = client.FileDiff{Filename: d.Name, Diff: d.Diff}
	}
	return readDiffs(files, side{app.Source, true}), slices.DeleteFunc(would.SourceFiles, func(f client.SourceFile) bool { return f.Status != "error" }), nil
}

// lineEnds normalizes line ends.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// fileOf returns one of an app's files with its status; zero if there is no such file.
func fileOf(app client.AppSource, name string) client.SourceFile {
	for _, file := range app.SourceFiles {
		if file.Filename == name {
			return file
		}
	}
	return client.SourceFile{}
}
