package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

// entries are the files in the top folder that become the bundle.
var entries = []string{"site.ts", "site.tsx", "site.js", "site.jsx", "site.mjs"}

// tellCompiled reports the compiler's messages about an app's files. They are in folder; "": not here. It also reports
// what would keep pages from running the app, and returns the number of files that do not compile.
func tellCompiled(to io.Writer, folder string, s client.AppSource) (wrong int) {
	for _, f := range s.SourceFiles {
		position := terminal.Printable(filepath.Join(folder, filepath.FromSlash(f.Filename)))
		if f.Line > 0 { // else the fault is in an import
			position += fmt.Sprintf(":%d:%d", f.Line, f.Column)
		}
		if f.Error != "" {
			wrong++
			fmt.Fprintf(to, "%s: error: %s\n", position, terminal.Printable(f.Error))
		}
		if f.Warning != "" {
			fmt.Fprintf(to, "%s: warning: %s\n", position, terminal.Printable(f.Warning))
		}
	}
	switch {
	case s.Bundle == nil && wrong == 0:
		fmt.Fprintf(to, "foyer: note: pages run nothing of it: there is no %s in the top folder, nor does plugin.json name one as main\n", strings.Join(entries, ", "))
	case s.Bundle != nil && !s.Bundle.Inject:
		fmt.Fprintln(to, "foyer: note: the bundle exports no inject: pages run it, but give it no values")
	}
	return wrong
}

// notCompiled is the error that some files do not compile, with the consequences unless it was a dry run; nil: all
// compile. runs says whether pages have a bundle.
func notCompiled(wrong int, runs, dry bool) error {
	if wrong == 0 {
		return nil
	}
	files, stored := "one file does not compile", "it is stored"
	if wrong > 1 {
		files, stored = fmt.Sprintf("%d files do not compile", wrong), "they are stored"
	}
	if dry {
		return errors.New(files)
	}
	if !runs {
		return errors.New(files + ": " + stored + ", and pages run nothing of the app")
	}
	return errors.New(files + ": " + stored + ", and pages go on with the last version that did")
}
