package console

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/face/console/markup"
)

// Source shows one file of an app, to be edited; or an empty one to be added.
type Source struct {
	Frame
	App  client.App
	File client.SourceFile // with an empty name: a new one
	Text string
}

// IsText reports whether the file can be shown, and changed by hand.
func (s Source) IsText() bool { return utf8.ValidString(s.Text) && !strings.Contains(s.Text, "\x00") }

func showSource(v *visit) (markup.Page, error) {
	app, err := v.source()
	if err != nil {
		return markup.Page{}, err
	}
	page := Source{Frame: v.frameOf(app.App), App: app.App}
	name := v.request.URL.Query().Get("file")
	page.File, page.Text = fileOf(app, name), app.Source[name]
	if page.File.Filename != name && v.refused == nil {
		return markup.Page{}, fault.New(fault.NotFound, "The app has no file of this name.")
	}
	return markup.Fill("source.html", page), nil
}

// saveFile keeps the text of a file, unless somebody else has changed the file since its page
// was opened: then the page says so, and saving again keeps it. Browsers send every line end as
// CR LF: a file that had any keeps them all, and one that was not edited stays as it was.
func saveFile(v *visit) (next, error) {
	name, text := v.filename(), v.typed("text")
	said := sentence("%s is saved.", name)
	then, err := v.onApp(func(id int64) (string, error) {
		app, err := v.organization.GetSource(v.ctx(), id)
		if err != nil {
			return "", err
		}
		stored, there := app.Source[name]
		if there && text == lineEnds.Replace(stored) {
			return said, nil // it is saved: the form was sent twice, or not edited
		}
		switch v.line("sha256") {
		case fileOf(app, name).SHA256:
		case "":
			return "", wrong("source", "There is a file of this name: open it to change it.")
		default:
			return "", wrong("source", "Somebody else has changed the file since you opened it. Save again to have it as it is here; open the page in another tab to see theirs.")
		}
		if strings.Contains(stored, "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		return said, v.setFile(id, name, &text)
	})
	then.path = v.appPath() + "/source?file=" + url.QueryEscape(name)
	return then, err
}

// filename is the one in the form: of an existing file as it is, of a new one without white
// space around it.
func (v *visit) filename() string {
	name := v.request.PostForm.Get("filename")
	if v.line("sha256") == "" {
		name = strings.TrimSpace(name)
	}
	return name
}

// deleteFile removes a file, unless somebody else has changed it since its page was opened.
func deleteFile(v *visit) (next, error) {
	name := v.filename()
	said := sentence("%s is deleted.", name)
	then, err := v.onApp(func(id int64) (string, error) {
		app, err := v.organization.GetSource(v.ctx(), id)
		if err != nil {
			return "", err
		}
		switch fileOf(app, name).SHA256 {
		case "": // it is gone: the form was sent twice
			return said, nil
		case v.line("sha256"):
			return said, v.setFile(id, name, nil)
		}
		return "", wrong("", "Somebody else has changed the file since you opened it. It is shown as it is now: delete it again to be rid of it.")
	})
	then.path = v.appPath()
	return then, err
}

func (v *visit) setFile(id int64, name string, text *string) error {
	_, err := v.organization.UpdateSource(v.ctx(), id, client.SourcePatch{Source: map[string]*string{name: text}, Message: v.line("message")})
	return err
}

// lineEnds makes one of all.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// fileOf is how one of an app's files fared; zero if there is no such file.
func fileOf(app client.AppSource, name string) client.SourceFile {
	for _, file := range app.SourceFiles {
		if file.Filename == name {
			return file
		}
	}
	return client.SourceFile{}
}
