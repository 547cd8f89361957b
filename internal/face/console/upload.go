package console

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/domain/source"
	"foyer/internal/face/console/folder"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// Upload puts the files of a zip into an app.
type Upload struct {
	Frame
	App      client.App
	Reviewed bool
	Changes  differences
	Broken   []client.SourceFile
	LeftOut  []string // of the zip
	Zip      string   // that is reviewed
	ETag     string   // of the app that it was compared with
	Exact    bool     // files that the zip lacks are deleted
	Message  string   // of the version
}

// MaxFiles is how many files an app has at most.
func (Upload) MaxFiles() int { return source.MaxFiles }

// MaxMiB is the largest size of all files together.
func (Upload) MaxMiB() int { return source.MaxBytes >> 20 }

// showUpload asks for a zip. A zip that could not be saved is reviewed again: the user may correct it, or the app may
// have changed.
func showUpload(v *visit) (markup.Page, error) {
	if v.refused != nil && v.line("do") == "save" {
		page, err := v.upload()
		if _, again := errors.AsType[*client.Error](err); !again {
			return markup.Fill("upload.html", page), err
		}
	}
	app, err := v.app()
	return markup.Fill("upload.html", Upload{Frame: v.frameOf(app), App: app, Exact: v.ticked("exact")}), err
}

// zip returns the zip in the form.
func (v *visit) zip() ([]byte, error) {
	packed, err := base64.RawURLEncoding.DecodeString(v.request.PostForm.Get("zip"))
	if err != nil || len(packed) == 0 {
		return nil, wrong("zip", "Choose a zip.")
	}
	return packed, nil
}

// unpacked returns what a zip, with the choice in the form, changes in an app.
func (v *visit) unpacked(app client.AppSource, packed []byte) (patch client.FileEdits, leftOut []string, err error) {
	files, leftOut, err := folder.Unpack(packed)
	if err != nil {
		return nil, nil, wrong("zip", fault.Of(err)[0].Detail)
	}
	patch = client.FileEdits{}
	for name, content := range files {
		if stored, there := app.Source[name]; !there || stored != content {
			patch[name] = &content
		}
	}
	if v.ticked("exact") {
		for name := range app.Source {
			if _, has := files[name]; !has && !folder.Hidden(name) && !slices.Contains(leftOut, name) {
				patch[name] = nil
			}
		}
	}
	return patch, leftOut, nil
}

func reviewUpload(v *visit) (next, error) {
	page, err := v.upload()
	return next{page: new(markup.Fill("upload.html", page))}, err
}

// upload returns the zip in the form, with what saving it would change.
func (v *visit) upload() (Upload, error) {
	page := Upload{Reviewed: true, Exact: v.ticked("exact"), Message: v.line("message")}
	id, err := v.appID()
	if err != nil {
		return page, err
	}
	app, err := v.organization.With(client.ETag(&page.ETag)).GetSource(v.ctx(), id)
	if err != nil {
		return page, err
	}
	page.Frame, page.App = v.frameOf(app.App), app.App
	packed, err := v.zip()
	if err != nil {
		return page, err
	}
	patch, leftOut, err := v.unpacked(app, packed)
	if err != nil {
		return page, err
	}
	page.LeftOut = leftOut
	trimmed, err := folder.Trim(packed) // with files of tools, it may be too large for a form
	if err != nil {
		return page, err
	}
	page.Zip = base64.RawURLEncoding.EncodeToString(trimmed)
	page.Changes, page.Broken, err = v.wouldChange(app, patch)
	return page, err
}

// saveUpload saves the files of a zip as one version. A reviewed zip is saved only if the app has not changed since the
// review.
func saveUpload(v *visit) (next, error) {
	then, err := v.onApp(func(id int64) (string, error) {
		packed, err := v.zip()
		if err != nil {
			return "", err
		}
		var leftOut []string
		patch, err := v.changeFiles(id, func(app client.AppSource, tag string) (patch client.FileEdits, err error) {
			patch, leftOut, err = v.unpacked(app, packed)
			if reviewed := v.line("etag"); err == nil && len(patch) > 0 && reviewed != "" && reviewed != tag {
				err = refusal(http.StatusPreconditionFailed, changedMeanwhile+". Saving again makes the changes below.")
			}
			return patch, err
		})
		flash := whatWasSaved(patch)
		if len(leftOut) > 0 {
			flash += " " + became(leftOut, "left out") + " An app cannot have such files."
		}
		return flash, err
	})
	then.path = v.appPath()
	return then, err
}

// downloadSource answers with the files of an app, as a zip.
func (c *Console) downloadSource(w http.ResponseWriter, r *http.Request) {
	v, err := c.visit(w, r)
	var app client.AppSource
	if err == nil {
		app, err = v.source() //nolint:contextcheck // it has the request's
	}
	var packed bytes.Buffer
	if err == nil {
		err = folder.Pack(&packed, app.Name, app.Source, c.Keys.Now())
	}
	if err == nil {
		err = wire.Hold(w, packed.Len())
	}
	if err != nil {
		c.fail(w, r, v, err)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", `attachment; filename="`+folder.Name(app.Name)+`.zip"`)
	_, _ = w.Write(packed.Bytes()) // the browser may have disconnected
}
