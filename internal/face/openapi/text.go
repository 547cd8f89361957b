package openapi

import (
	"regexp"
	"strings"
)

// block is a heading, a paragraph or a list of a description.
type block struct {
	Heading string
	Text    []span
	Items   [][]span
}

// Slug is the anchor of a heading.
func (b block) Slug() string {
	return strings.ReplaceAll(strings.ToLower(b.Heading), " ", "-")
}

// span is a piece of text in one style.
type span struct {
	Text               string
	Code, Strong, Emph bool
}

// blocks reads the subset of Markdown that the descriptions use: ## headings, paragraphs, - lists, `code`, **strong**
// and *emphasis*.
func blocks(markdown string) []block {
	var all []block
	for paragraph := range strings.SplitSeq(strings.TrimSpace(markdown), "\n\n") {
		if heading, ok := strings.CutPrefix(paragraph, "## "); ok {
			all = append(all, block{Heading: heading})
		} else if list, ok := strings.CutPrefix(paragraph, "- "); ok {
			var b block
			for item := range strings.SplitSeq(list, "\n- ") {
				b.Items = append(b.Items, spans(item))
			}
			all = append(all, b)
		} else if paragraph != "" {
			all = append(all, block{Text: spans(paragraph)})
		}
	}
	return all
}

var styled = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|\\*[^*]+\\*")

func spans(text string) []span {
	text = strings.Join(strings.Fields(text), " ")
	var all []span
	for text != "" {
		at := styled.FindStringIndex(text)
		if at == nil {
			return append(all, span{Text: text})
		}
		if at[0] > 0 {
			all = append(all, span{Text: text[:at[0]]})
		}
		all = append(all, style(text[at[0]:at[1]]))
		text = text[at[1]:]
	}
	return all
}

func style(marked string) span {
	switch {
	case marked[0] == '`':
		return span{Text: strings.Trim(marked, "`"), Code: true}
	case marked[:2] == "**":
		return span{Text: strings.Trim(marked, "*"), Strong: true}
	default:
		return span{Text: strings.Trim(marked, "*"), Emph: true}
	}
}
