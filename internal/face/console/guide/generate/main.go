// Command generate makes the guides that the server shows from the texts in a folder: NAME.md becomes pages/NAME.html.gz.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"foyer/internal/base/compress"
)

// names are the guides that the server shows.
var names = []string{"guide-app-authors", "guide-page-owners", "guide-operators", "operating", "api", "cli", "cookbook", "performance", "architecture", "glossary"}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER")
	}
	sources := sha256.New()
	for _, name := range names {
		if err := generate(os.Args[1], name, sources); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.WriteFile("pages/sources.sha256", fmt.Appendf(nil, "%x\n", sources.Sum(nil)), 0o644); err != nil {
		log.Fatal(err)
	}
}

func generate(folder, name string, sources io.Writer) error {
	source, err := os.ReadFile(filepath.Join(folder, name+".md"))
	if err != nil {
		return err
	}
	_, _ = sources.Write(source) // a hash takes everything
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID(),
		parser.WithASTTransformers(util.Prioritized(links{}, 100))))
	var out bytes.Buffer
	if err := md.Convert(source, &out); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("pages", name+".html.gz"), compress.Gzip(decorate(out.Bytes())), 0o644)
}

// links rewrites links between guides to their pages, and removes the other links into the repository.
type links struct{}

// Transform changes the links of a document.
func (links) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	var gone []*ast.Link
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := node.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(link.Destination)
		file, anchor, _ := strings.Cut(to, "#")
		switch name := strings.TrimSuffix(file, ".md"); {
		case strings.Contains(to, "://"), file == "":
		case slices.Contains(names, name) && anchor != "":
			link.Destination = []byte(name + "#" + anchor)
		case slices.Contains(names, name):
			link.Destination = []byte(name)
		default:
			gone = append(gone, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range gone {
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
}

var code = regexp.MustCompile(`(?s)<pre><code.*?</pre>`)

// decorate makes code copyable and scrollable by keyboard, and makes tables fit.
func decorate(page []byte) []byte {
	n := 0
	page = code.ReplaceAllFunc(page, func(block []byte) []byte {
		n++
		id := fmt.Sprintf("code%d", n)
		return fmt.Appendf(nil, `<div class="sample"><pre id="%s" tabindex="0"%s<button type="button" class="small quiet copy" data-copy="%s" hidden>Copy</button></div>`, id, block[len("<pre"):], id)
	})
	page = bytes.ReplaceAll(page, []byte("<table>"), []byte(`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`))
	return bytes.ReplaceAll(page, []byte("</table>"), []byte("</table></div>"))
}
