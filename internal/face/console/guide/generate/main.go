// Command generate makes the guides that the server shows of the texts in a folder: NAME.md becomes
// pages/NAME.html, and all that can be searched pages/search.json.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
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
)

// names are the guides that are shown.
var names = []string{"guide-app-authors", "guide-page-owners", "operating", "api", "cli", "cookbook", "performance", "architecture", "glossary"}

// section is what is found of a guide.
type section struct {
	Page  string `json:"page"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER")
	}
	var all []section
	sources := sha256.New()
	for _, name := range names {
		found, err := generate(os.Args[1], name, sources)
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, found...)
	}
	index, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = os.WriteFile("pages/search.json", append(index, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile("pages/sources.sha256", fmt.Appendf(nil, "%x\n", sources.Sum(nil)), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func generate(folder, name string, sources io.Writer) ([]section, error) {
	source, err := os.ReadFile(filepath.Join(folder, name+".md"))
	if err != nil {
		return nil, err
	}
	_, _ = sources.Write(source) // a hash takes everything
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID(),
		parser.WithASTTransformers(util.Prioritized(links{}, 100))))
	document := md.Parser().Parse(text.NewReader(source))
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, document); err != nil {
		return nil, err
	}
	return sections(name, document, source), os.WriteFile(filepath.Join("pages", name+".html"), decorate(out.Bytes()), 0o644)
}

// links has those between guides lead to their pages, and others of the repository to nowhere.
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

// decorate makes code that can be copied and scrolled by keys, and tables that fit.
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

// sections are the parts of a guide below its headings.
func sections(name string, document ast.Node, source []byte) []section {
	var all []section
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok && heading.Level <= 3 {
			id, _ := heading.AttributeString("id")
			anchor, _ := id.([]byte)
			all = append(all, section{Page: name, ID: string(anchor), Title: plain(node, source)})
		} else if len(all) > 0 {
			all[len(all)-1].Text += plain(node, source) + " "
		}
	}
	for i := range all {
		all[i].Text = strings.Join(strings.Fields(all[i].Text), " ")
	}
	return all
}

// plain is the text of a node without its marks.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Value(source))
			if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			out.Write(n.Lines().Value(source))
		}
		if n.Type() == ast.TypeBlock {
			out.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return html.UnescapeString(out.String())
}
