// Package markdown shows texts of strangers in Markdown on pages of foyer: nothing in them runs, or is
// loaded from elsewhere.
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
	// maxShort is how long a text of which a page has many may be: the parser takes squared time for some.
	maxShort = 1 << 10
)

// maxLinks is how many times as long as a text the addresses and titles of its links may be together: many links can name one
// definition, and each gets what that says.
const maxLinks = 4

// below is how many levels the headings of a text are below those of the page: its own begin at the third.
const below = 2

// HTML is a text as HTML. HTML in it is left out, as are pictures, of which the text remains, as it does of links whose
// addresses are too long together. A table most of whose rows lack cells stays as it was written.
func HTML(source string) template.HTML {
	source = plaintext.Visible(strings.ToValidUTF8(source[:min(len(source), maxBytes)], ""))
	options := []goldmark.Option{goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 100)))}
	if fillsTables(source) {
		options = append(options, goldmark.WithExtensions(extension.Table))
	}
	md := goldmark.New(options...)
	var out bytes.Buffer
	if err := md.Convert([]byte(source), &out); err != nil {
		return template.HTML(template.HTMLEscapeString(source)) //nolint:gosec // it is escaped
	}
	return template.HTML(out.String()) //nolint:gosec // goldmark escapes texts, and leaves HTML out
}

// fillsTables reports whether the rows of a text's tables are about as long as their headings. The parser adds the cells that a
// row lacks: of a heading of 2,000 columns and 4,000 rows of one, it would make 8 million.
func fillsTables(source string) bool {
	columns, rows := 0, 0
	for line := range strings.Lines(source) {
		columns = max(columns, strings.Count(line, "|"))
		rows++
	}
	return columns*rows <= len(source)
}

// Short is a text of which a page has many as HTML; a long one as it was written.
func Short(source string) template.HTML {
	if len(source) > maxShort {
		return "<p>" + escape(source) + "</p>\n"
	}
	return HTML(source)
}

// Inline is a Short text of one paragraph, to stand within another; one of several as it was written.
func Inline(source string) template.HTML {
	text := string(Short(source))
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "<p>"), "</p>\n")
	if text == "<p>"+inner+"</p>\n" && !strings.Contains(inner, "<p>") {
		return template.HTML(inner) //nolint:gosec // it is part of what HTML returned
	}
	return escape(source)
}

func escape(source string) template.HTML {
	return template.HTML(template.HTMLEscapeString(plaintext.Visible(source))) //nolint:gosec // it is escaped
}

// Cut reports whether not all of a text is shown.
func Cut(source string) bool { return len(source) > maxBytes }

// tame changes what a page cannot have: links that lead nowhere on the web, pictures, and headings above its own.
type tame struct{}

// Transform changes a document.
func (tame) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
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
				node.Parent().ReplaceChild(node.Parent(), node, ast.NewString(node.Label(reader.Source())))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, node := range gone {
		for child := node.FirstChild(); child != nil; child = node.FirstChild() {
			node.Parent().InsertBefore(node.Parent(), node, child)
		}
		node.Parent().RemoveChild(node.Parent(), node)
	}
}

// isWeb reports whether an address is one of the web.
func isWeb(address []byte) bool {
	u, err := url.Parse(string(address))
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
