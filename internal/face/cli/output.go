package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"foyer/internal/face/wire"
)

// output is where a command answers: in a table, or in JSON.
type output struct {
	io.Writer
	json bool
}

// say answers a command that has done something: with a sentence, or with answer.
func (o *output) say(answer any, format string, args ...any) error {
	if o.json {
		return json.NewEncoder(o).Encode(answer)
	}
	_, err := fmt.Fprintf(o, format+"\n", args...)
	return err
}

// view is how things of one kind are shown.
type view[T any] struct {
	columns string // separated by spaces
	row     func(T) []any
	object  func([]byte, T) []byte
}

// one shows a single thing.
func (v view[T]) one(o *output, item T) error {
	if o.json {
		_, err := o.Write(append(v.object(nil, item), '\n'))
		return err
	}
	return v.table(o, []T{item})
}

// all shows a list.
func (v view[T]) all(o *output, items []T) error {
	if o.json {
		_, err := o.Write(append(wire.AppendList(nil, items, v.object), '\n'))
		return err
	}
	return v.table(o, items)
}

func (v view[T]) table(o *output, items []T) error {
	const gap = 2
	w := tabwriter.NewWriter(o, 0, 0, gap, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(v.columns, " ", "\t"))
	for _, item := range items {
		row := v.row(item)
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// printable is a cell's text. What somebody has typed into the API must not be
// able to command the terminal of whoever reads it.
func printable(cell any) string {
	text := fmt.Sprint(cell)
	if at, ok := cell.(time.Time); ok {
		text = ""
		if !at.IsZero() {
			text = at.UTC().Format(time.RFC3339)
		}
	}
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
