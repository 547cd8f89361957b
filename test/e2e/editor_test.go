package e2e

import (
	"context"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"foyer/client"
)

// editorText is an expression for the text in the editor.
const editorText = `document.querySelector(".file:not([hidden]) .edited > div")?.shadowRoot.querySelector(".cm-content").textContent`

// becomes waits until an expression has a value.
func becomes(want, expression string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](`(`+expression+`) === `+want))
		return err
	})
}

// choose opens a file of the tree in the editor; "": a new one.
func choose(file string) step {
	return chromedp.Click(chromedp.CSS(`.tree a[data-file="` + file + `"]`))
}

// chooseAtOnce opens files of the tree one after another, before the first has loaded.
func chooseAtOnce(files ...string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => {
			"`+strings.Join(files, " ")+`".split(" ").forEach((file) => document.querySelector(".tree a[data-file='" + file + "']").click())
			return true
		})()`))
		return err
	})
}

// control presses a key with Ctrl in the editor.
func control(key string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-content").dispatchEvent(new KeyboardEvent("keydown", { `+key+`, ctrlKey: true, bubbles: true, composed: true, cancelable: true }))`))
		return err
	})
}

// editing starts a server with an app of these files, in JSON, and returns a browser that is signed in there.
func editing(t *testing.T, files string) (ctx context.Context, i *instance, key string) {
	t.Helper()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i, key = launch(t, s), s["BOOTSTRAP_KEY"]
	i.call(key, "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner","source":`+files+`}`, 201)
	ctx = browser(t)
	i.signIn(ctx, key)
	return ctx, i, key
}

// The editor opens several files at once, saves them as one version with a key, shows errors in their lines, and loses no
// typed text. The page's policy allows all of it.
func TestEditorInABrowser(t *testing.T) {
	t.Parallel()
	ctx, i, key := editing(t, `{"site.ts":"export const a = 1\n","lib/b.css":"p { color: red }\n"}`)
	save := leave(control(`key: "s"`))
	page := i.url + "/console/@current/apps/1/source?file="
	look(ctx, t, "editor-add", "Add a file", to(i.url+"/console/@current/apps/1/source"), becomes(`"Add a file"`, `[...document.querySelectorAll(".tree [aria-current]")].map((e) => e.textContent.trim()).join()`))
	look(ctx, t, "editor", "site.ts", to(page+"site.ts"), becomes(`"export const a = 1"`, editorText))
	look(ctx, t, "editor-typed", "site.ts", write("export const a = ;\n"))
	look(ctx, t, "editor-second", "lib/b.css", chooseAtOnce("lib/b.css", "lib/b.css"), becomes(`"p { color: red }"`, editorText), write("p { color: blue }\n"))
	look(ctx, t, "editor-first", "site.ts", choose("site.ts"), becomes(`2`, `document.querySelectorAll(".file").length`))
	look(ctx, t, "editor-again", "lib/b.css", choose("lib/b.css"), becomes(`"p { color: blue }"`, editorText))
	look(ctx, t, "editor-review", "site.ts", press("Show what changes"), waitFor(".review .diff"))
	look(ctx, t, "editor-saved", "site.ts", save, waitFor(".flash"))
	look(ctx, t, "editor-error", "site.ts", becomes(`true`, `document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-lintRange-error, .cm-lintPoint-error") !== null`))

	// Leaving with unsaved text would open a dialog, so this stores the draft directly.
	draft := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => {
			const hash = document.querySelector(".file [name=sha256]").value
			sessionStorage.setItem(`+keyOf("site.ts")+`, JSON.stringify({ hash, text: "kept\n" }))
			return true
		})()`))
		return err
	})
	look(ctx, t, "editor-draft", "site.ts", to(page+"site.ts"), draft)
	look(ctx, t, "editor-restored", "site.ts", to(page+"site.ts"), becomes(`"kept"`, editorText), chromedp.Click(`//button[.="Show what is saved"]`), becomes(`"export const a = ;"`, editorText))

	c, err := client.New(i.url, key)
	check(t, err)
	app, err := c.Organization(client.Current).GetSource(t.Context(), 1)
	if err != nil || app.Source["site.ts"] != "export const a = ;\n" || app.Source["lib/b.css"] != "p { color: blue }\n" {
		t.Errorf("%q, %v", app.Source, err)
	}
	versions, err := c.Organization(client.Current).ListVersions(t.Context(), 1, client.Range{})
	if err != nil || versions.Count != 2 {
		t.Errorf("%d versions, %v", versions.Count, err)
	}
}

// After a save with a key, the cursor is where it was: a user without a mouse goes on typing.
func TestEditorKeepsThePlace(t *testing.T) {
	t.Parallel()
	ctx, _, _ := editing(t, `{"lib.ts":"","site.ts":"export const a = 1"}`)
	look(ctx, t, "place", "site.ts", focused(), to(source(ctx, t)+"?file=lib.ts&file=site.ts"), choose("site.ts"), write(strings.Repeat("// a\n", 99)), leave(control(`key: "s"`)), waitFor(".flash"))
	const line = `document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.activeElement?.closest(".cm-editor").querySelector(".cm-activeLineGutter")?.textContent`
	if err := chromedp.Do(ctx, becomes(`"100"`, line)); err != nil {
		t.Error(err)
	}
}

// A file that loads slowly does not take the place of one that was chosen after it, where the user types already.
func TestEditorShowsWhatWasChosenLast(t *testing.T) {
	t.Parallel()
	ctx, _, _ := editing(t, `{"site.ts":"export const a = 1","lib.ts":"export const b = 1"}`)
	look(ctx, t, "last-opened", "site.ts", to(source(ctx, t)+"?file=site.ts"), becomes(`"export const a = 1"`, editorText), chooseAtOnce("lib.ts", "site.ts"), becomes(`2`, `document.querySelectorAll(".file").length`))
	look(ctx, t, "last-chosen", "site.ts", becomes(`"export const a = 1"`, editorText))
	look(ctx, t, "last-chosen-again", "lib.ts", choose("lib.ts"), becomes(`"export const b = 1"`, editorText))
}

// writeBoth types into the current file, and then into another that was opened before, faster than people can.
func writeBoth(text, file, other string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(async () => {
			const write = (text) => {
				document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-content").focus()
				document.execCommand("selectAll")
				return document.execCommand("insertText", false, text)
			}
			const first = write("`+text+`")
			await null // the editor takes note of it
			document.querySelector(".tree a[data-file='`+file+`']").click()
			return first && write("`+other+`")
		})()`, chromedp.EvalAwaitPromise))
		return err
	})
}

// Text typed into a file is kept and marked, however soon the user switches to another file.
func TestEditorKeepsEachFile(t *testing.T) {
	t.Parallel()
	ctx, _, _ := editing(t, `{"site.ts":"export const a = 1","lib.ts":"export const b = 1"}`)
	look(ctx, t, "each-opened", "lib.ts", to(source(ctx, t)+"?file=site.ts"), becomes(`"export const a = 1"`, editorText), choose("lib.ts"), becomes(`"export const b = 1"`, editorText))
	look(ctx, t, "each-typed", "site.ts", writeBoth("// b", "site.ts", "// a"), kept("site.ts", "// a"), kept("lib.ts", "// b"),
		becomes(`"lib.ts site.ts"`, `[...document.querySelectorAll(".tree a.dirty")].map((e) => e.dataset.file).join(" ")`))
}

// An empty new file does not prevent saving others; it gets the language of its name, and is no longer a draft once it is
// saved.
func TestEditorAddsAFile(t *testing.T) {
	t.Parallel()
	ctx, i, _ := editing(t, `{"site.ts":"export const a = 1\n"}`)
	saved := func(name, heading, want string, before ...step) {
		t.Helper()
		if text := look(ctx, t, name, heading, append(before, press("Save"), waitFor(".flash"))...); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", name, want, text)
		}
	}
	look(ctx, t, "editor-empty", "Add a file", to(i.url+"/console/@current/apps/1/source?file=site.ts"), choose(""))
	saved("editor-without-empty", "site.ts", "site.ts is saved.", choose("site.ts"), becomes(`"export const a = 1"`, editorText), write("export const a = 2\n"))

	look(ctx, t, "editor-new", "Add a file", choose(""), becomes(`""`, editorText), write("const b = 1\n"))
	look(ctx, t, "editor-other", "site.ts", choose("site.ts"), becomes(`"export const a = 2"`, editorText), write("export const a = 3\n"))
	look(ctx, t, "editor-nameless", "Add a file", chromedp.Click(`//button[.="Save"]`), becomes(`"const b = 1"`, editorText))
	const colored = `document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-line span") !== null`
	saved("editor-added", "site.ts", "2 files are saved.", becomes(`false`, colored), chromedp.SendKeys(chromedp.CSS(".file:not([hidden]) [name=filename]"), "new.ts"), write("const b = 2\n"), becomes(`true`, colored))
	look(ctx, t, "editor-caps-lock", "new.ts", choose("new.ts"), becomes(`"const b = 2"`, editorText), write("const b = 3"), control(`key: "ś", code: "KeyS", altKey: true`), leave(control(`key: "S", code: "KeyS"`)), waitFor(".flash"))
	look(ctx, t, "editor-cyrillic", "new.ts", becomes(`"const b = 3"`, editorText), write("const b = 4"), leave(control(`key: "ы", code: "KeyS"`)), waitFor(".flash"))
	look(ctx, t, "editor-another", "Add a file", choose(""), becomes(`""`, editorText), becomes(`null`, `document.querySelector(".file [role=status]")`))
}

// leaving answers yes whenever the browser asks whether to discard unsaved text.
func leaving(ctx context.Context) {
	questions := chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for _, err := range questions {
			if err != nil {
				return
			}
			if _, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
				return
			}
		}
	}()
}

// kept waits until the draft of a file has a text.
func kept(file, text string) step {
	return becomes(`"`+text+`"`, `JSON.parse(sessionStorage.getItem(`+keyOf(file)+`))?.text`)
}

// keyOf is an expression for the storage key of a file's draft.
func keyOf(file string) string {
	return `"foyer " + document.querySelector("form.files").dataset.person + " " + location.pathname + " ` + file + `"`
}

// source returns the address of the first app's files, as redirects give it: it is part of the key of drafts.
func source(ctx context.Context, t *testing.T) string {
	t.Helper()
	home, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href`))
	check(t, err)
	return home + "/apps/1/source"
}

// A draft is kept after its file has changed, until the user looks at it.
func TestEditorOffersADraft(t *testing.T) {
	t.Parallel()
	ctx, i, key := editing(t, `{"site.ts":"export const a = 1\n","lib.ts":"export const b = 1\n"}`)
	const offer = `document.querySelector(".file [role=status]")?.textContent.startsWith("You have not saved what you typed here, and the file has changed since.")`
	files := source(ctx, t)
	leaving(ctx)
	look(ctx, t, "draft-typed", "site.ts", to(files+"?file=site.ts"), becomes(`"export const a = 1"`, editorText), write("// an hour of work"), kept("site.ts", "// an hour of work"))
	i.call(key, "PATCH", "/pipeline_frontend_apps/1/update_source", `{"site.ts":"export const a = 2\n"}`, 200)
	look(ctx, t, "draft-offered", "site.ts", to(files+"?file=site.ts"), becomes(`true`, offer), becomes(`"export const a = 2"`, editorText), write("// more"))
	look(ctx, t, "draft-beside", "lib.ts", choose("lib.ts"), becomes(`"export const b = 1"`, editorText), write("export const b = 2"), kept("lib.ts", "export const b = 2"))
	look(ctx, t, "draft-saved", "site.ts", press("Save"), waitFor(".flash"))
	look(ctx, t, "draft-kept", "site.ts", to(files+"?file=site.ts"), becomes(`true`, offer), becomes(`"// more"`, editorText), chromedp.Click(`//button[.="Show what you typed"]`), becomes(`"// an hour of work"`, editorText))
}

// A new file is separate from an existing file of the same name: it does not block that one, and keeps its name and its
// text after a refusal, a review and a visit to another page.
func TestEditorDraftOfANewFile(t *testing.T) {
	t.Parallel()
	ctx, _, _ := editing(t, `{"site.ts":"export const a = 1"}`)
	const none, name = `document.querySelector(".file [role=status]")`, `document.querySelector(".file:not([hidden]) [name=filename]").value`
	files := source(ctx, t)
	leaving(ctx)
	look(ctx, t, "new-refused", "Add a file", to(files), becomes(`""`, editorText), fill("filename", "site.ts"), write("// new"), press("Save"), waitFor("#faults"))
	look(ctx, t, "new-in-the-way", "site.ts", choose("site.ts"), becomes(`"export const a = 1"`, editorText))
	look(ctx, t, "new-renamed", "other.ts", choose(""), becomes(`"// new"`, editorText), fill("filename", "other.ts"), press("Save"), waitFor(".flash"))
	look(ctx, t, "new-no-draft", "site.ts", to(files+"?file=site.ts"), becomes(`"export const a = 1"`, editorText), becomes(`null`, none))

	look(ctx, t, "new-named", "Add a file", to(files), becomes(`""`, editorText), becomes(`null`, none), chromedp.SendKeys(chromedp.CSS("#filename"), "foo.ts"), kept("", ""))
	look(ctx, t, "new-reviewed", "Add a file", to(files), becomes(`"foo.ts"`, name), write("// first"), press("Show what changes"), waitFor(".review .diff"))
	look(ctx, t, "new-again", "Add a file", becomes(`"// first"`, editorText), write("// second"), kept("", "// second"), to(files), becomes(`"// second"`, editorText), becomes(`"foo.ts"`, name))
}

// If the session ends before a save, the message is kept with its files. It is gone once they are saved.
func TestEditorKeepsTheMessage(t *testing.T) {
	t.Parallel()
	ctx, i, key := editing(t, `{"site.ts":"export const a = 1\n","old.ts":"export const b = 1\n"}`)
	c, err := client.New(i.url, key)
	check(t, err)
	const message = `document.querySelector("#message").value`
	page := source(ctx, t) + "?file=site.ts"
	leaving(ctx)
	look(ctx, t, "message-typed", "site.ts", to(page), becomes(`"export const a = 1"`, editorText), write("export const a = 2"), chromedp.SendKeys(chromedp.CSS("#message"), "Why"))
	check(t, c.DeleteSessions(t.Context()))
	look(ctx, t, "message-signed-out", "Sign in", press("Save"))
	look(ctx, t, "message-signed-in", "My organization", to(i.url+"/console"), fill("key", key), press("Sign in"))
	look(ctx, t, "message-kept", "site.ts", to(page), becomes(`"export const a = 2"`, editorText), becomes(`"Why"`, message))
	look(ctx, t, "message-saved", "site.ts", press("Save"), waitFor(".flash"), becomes(`""`, message))
	look(ctx, t, "message-no-more", "site.ts", to(page), becomes(`""`, message))
	look(ctx, t, "message-of-a-deletion", "old.ts", to(strings.Replace(page, "site.ts", "old.ts", 1)), becomes(`"export const b = 1"`, editorText),
		chromedp.SendKeys(chromedp.CSS("#message"), "Remove what is old"), chromedp.Click(`input[name=delete]`))
	look(ctx, t, "message-deleted", "Banner", press("Save"), waitFor(".flash"))
	look(ctx, t, "message-after-a-deletion", "site.ts", to(page), becomes(`"export const a = 2"`, editorText), becomes(`""`, message))
}

// Unsaved text waits for the user who typed it: another user who signs in in the same tab sees what is saved.
func TestEditorKeepsADraftForWhoTypedIt(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	key := s["BOOTSTRAP_KEY"]
	i.call(key, "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner","source":{"site.ts":"export const a = 1\n"}}`, 201)
	c, err := client.New(i.url, key)
	check(t, err)
	o := c.Organization(client.Current)
	invite, err := o.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "bea@x.example", Level: client.LevelAdmin, SendEmail: new(false)})
	check(t, err)
	link, err := o.LinkInvite(t.Context(), invite.ID)
	check(t, err)
	bea, err := c.AcceptInvitation(t.Context(), path.Base(link.URL), client.Names{})
	check(t, err)
	ctx := browser(t)
	leaving(ctx)
	var file string
	open := func(name, key, want string, then ...step) {
		t.Helper()
		look(ctx, t, name, "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
		look(ctx, t, name, "My organization", fill("key", key), press("Sign in"))
		if file == "" {
			file = source(ctx, t) + "?file=site.ts"
		}
		look(ctx, t, name, "site.ts", append([]step{to(file), becomes(`"`+want+`"`, editorText)}, then...)...)
		look(ctx, t, name, "Sign in", person(), press("Sign out"))
	}
	open("draft-of-grace", key, "export const a = 1", write("// of Grace"), kept("site.ts", "// of Grace"), chromedp.SendKeys(chromedp.CSS("#message"), "Why"))
	open("draft-not-of-bea", bea.APIKey, "export const a = 1", becomes(`""`, `document.querySelector("#message").value`))
	open("draft-still-of-grace", key, "// of Grace", becomes(`"Why"`, `document.querySelector("#message").value`))
}
