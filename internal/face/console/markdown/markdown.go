// Package markdown shows Markdown texts of strangers on pages of foyer: nothing in them runs, or is loaded from
// elsewhere.
package markdown

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"foyer/internal/base/plaintext"
)

const (
	// maxBytes is how much of a text is shown.
	maxBytes = 16 << 10
	// maxShort bounds each text on a page with many of them: the parser takes squared time for some.
	maxShort = 1 << 10
)

// maxLinks bounds the addresses and titles of a text's links together, as a multiple of its length: many links can refer to
// one definition, and each gets a copy of it.
const maxLinks = 4

// below is how many levels the headings of a text are lowered: the page uses the first two itself.
const below = 2

// HTML returns a text as HTML. It leaves out HTML and pictures, and unlinks links whose addresses are too long together;
// their texts remain. A table most of whose rows lack cells stays as it was written.
func HTML(source string) template.HTML {
	source = plaintext.Visible(strings.ToValidUTF8(source[:min(len(source), maxBytes)], ""))
	options := []goldmark.Option{goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(sanitizer{}, 100)))}
	if fillsTables(source) {
		options = append(options, goldmark.WithExtensions(extension.Table))
	}
	md := goldmark.New(options...)
	var out bytes.Buffer
	_ = md.Convert([]byte(source), &out) // a buffer takes everything
	return template.HTML(out.String())   // goldmark escapes texts, and leaves HTML out
}

// fillsTables reports whether the rows of a text's tables are about as long as their headings. The parser adds the missing
// cells of each row: a heading of 2,000 columns above 4,000 rows of one would make 8 million.
func fillsTables(source string) bool {
	columns, rows := 0, 0
	for line := range strings.Lines(source) {
		columns = max(columns, strings.Count(line, "|"))
		rows++
	}
	return columns*rows <= len(source)
}

// Short returns a text as HTML, for a page with many of them; a long one stays as it was written.
func Short(source string) template.HTML {
	if len(source) > maxShort {
		return "<p>" + escape(source) + "</p>\n"
	}
	return HTML(source)
}

// Inline returns a Short text of one paragraph, to be placed within another; a text of several stays as it was written.
func Inline(source string) template.HTML {
	text := string(Short(source))
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "<p>"), "</p>\n")
	if text == "<p>"+inner+"</p>\n" && !strings.Contains(inner, "<p>") {
		return template.HTML(inner) // it is part of what HTML returned
	}
	return escape(source)
}

func escape(source string) template.HTML {
	return template.HTML(template.HTMLEscapeString(plaintext.Visible(source))) // it is escaped
}

// Cut reports whether only a part of a text is shown.
func Cut(source string) bool { return len(source) > maxBytes }

// sanitizer changes what a page cannot have: links that do not lead to the web, pictures, and headings above its own.
type sanitizer struct{}

// Transform changes a document.
func (sanitizer) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	var gone []ast.Node
	left := maxLinks * len(reader.Source())
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			node.Level = min(node.Level+below, 6)
		case *ast.Image:
			gone = append(gone, node)
		case *ast.Link:
			if left -= len(node.Destination) + len(node.Title); left < 0 || !isWeb(node.Destination) {
				gone = append(gone, node)
			}
			node.SetAttributeString("rel", []byte("nofollow noopener noreferrer"))
		case *ast.AutoLink:
			if !isWeb(node.URL(reader.Source())) {
				node.AppendChild(node, ast.NewString(node.Label(reader.Source())))
				gone = append(gone, node)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, node := range gone { // not before: Walk goes on from a node to the one beside it
		for child := node.FirstChild(); child != nil; child = node.FirstChild() {
			node.Parent().InsertBefore(node.Parent(), node, child)
		}
		node.Parent().RemoveChild(node.Parent(), node)
	}
}

// isWeb reports whether an address is a web address.
func isWeb(address []byte) bool {
	u, err := url.Parse(string(address))
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
