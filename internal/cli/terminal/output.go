// Package terminal is how commands talk to their users: tables, JSON, questions.
package terminal

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/term"

	"foyer/internal/base/plaintext"
	"foyer/internal/face/wire"
)

// Format is the format of a command's answer.
type Format string

// The formats.
const (
	Table Format = "table" // with the most needed columns, as wide as the terminal
	Wide  Format = "wide"  // with all columns
	JSON  Format = "json"
	CSV   Format = "csv"
)

// Output is where a command writes its answer.
type Output struct {
	io.Writer
	Format   Format
	Terminal bool // it is a terminal
	Width    int  // of the terminal; 0: it is unknown, or there is none
	Color    bool // the terminal shows colors, and its user wants them
}

// NewOutput returns an output in a format. Only a terminal has a width and colors.
func NewOutput(w io.Writer, f Format, noColor bool) *Output {
	out := &Output{Writer: w, Format: f}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		out.Terminal = true
		out.Width, _, _ = term.GetSize(int(file.Fd()))
		out.Color = !noColor
	}
	return out
}

// Say answers a command that has done something, with a sentence or with answer.
func (o *Output) Say(answer any, format string, args ...any) error {
	switch o.Format {
	case JSON:
		return o.object(answer)
	case CSV:
		return o.record(answer)
	default:
		_, err := io.WriteString(o, o.Shown(fmt.Sprintf(format+"\n", args...)))
		return err
	}
}

// SayOnce is Say for what cannot be shown again: if the reader has exited, that is an error to report, and does not end
// foyer.
func (o *Output) SayOnce(answer any, format string, args ...any) error {
	signal.Ignore(syscall.SIGPIPE)
	return o.Say(answer, format, args...)
}

// record writes an object in CSV: its names in one line, its values in the next.
func (o *Output) record(answer any) error {
	object, err := appendJSON(nil, reflect.ValueOf(answer))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return err
	}
	rows := make([][]string, 2)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		rows[0], rows[1] = append(rows[0], fmt.Sprint(name)), append(rows[1], plain(value))
	}
	return writeCSV(o, rows)
}

// plain returns a JSON value as a cell.
func plain(value json.RawMessage) string {
	var one string
	var several []string
	switch {
	case string(value) == "null":
		return ""
	case json.Unmarshal(value, &one) == nil:
		return one
	case json.Unmarshal(value, &several) == nil:
		return strings.Join(several, ",")
	}
	return string(value)
}

// object writes JSON in one line.
func (o *Output) object(answer any) error {
	text, err := appendJSON(nil, reflect.ValueOf(answer))
	if err != nil {
		return err
	}
	return o.line(text)
}

func (o *Output) line(text []byte) error {
	_, err := io.WriteString(o, o.Shown(string(text))+"\n")
	return err
}

// View describes how to show things of one kind.
type View[T any] struct {
	Columns string // separated by spaces
	More    string // columns that a plain table lacks; the longest texts come last, since each row is padded up to the last column
	Row     func(T) []any
	Object  func([]byte, T) []byte // appends its JSON; nil: encoding/json does
}

// One shows a single thing.
func (v View[T]) One(o *Output, item T) error {
	switch {
	case o.Format != JSON:
		return v.table(o, []T{item})
	case v.Object == nil:
		return o.object(item)
	}
	return o.line(v.Object(nil, item))
}

// All shows a list.
func (v View[T]) All(o *Output, items []T) error {
	switch {
	case o.Format != JSON:
		return v.table(o, items)
	case v.Object == nil:
		return o.object(append([]T{}, items...)) // not null
	}
	return o.line(wire.AppendList(nil, items, v.Object))
}

func (v View[T]) table(o *Output, items []T) error {
	columns := strings.Fields(v.Columns)
	if o.Format != Table {
		columns = append(columns, strings.Fields(v.More)...)
	}
	rows := [][]string{columns}
	for _, item := range items {
		row := v.Row(item)
		cells := make([]string, len(columns))
		for i := range cells {
			if cells[i] = Printable(row[i]); o.Format == CSV {
				cells[i] = text(row[i])
			}
		}
		rows = append(rows, cells)
	}
	if o.Format == CSV {
		return writeCSV(o, rows)
	}
	return o.lay(rows)
}

func writeCSV(o *Output, rows [][]string) error {
	out := csv.NewWriter(o)
	for i, cell := range rows[0] {
		rows[0][i] = strings.ToLower(strings.ReplaceAll(cell, "-", "_"))
	}
	for _, row := range rows[1:] {
		for i, cell := range row {
			row[i] = o.Shown(noFormula(cell))
		}
	}
	return errors.Join(out.WriteAll(rows), out.Error())
}

// noFormula returns a cell that a spreadsheet shows and does not compute: others have typed it.
func noFormula(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// Shown returns a text of several lines as it is or, on a terminal, without characters that could control the terminal.
func (o *Output) Shown(text string) string {
	if o.Terminal {
		return printable(text, "\n\t")
	}
	return text
}

// Code returns program text as Shown does, on a terminal also without characters that have no shape: its author may hide
// something in them.
func (o *Output) Code(text string) string {
	if !o.Terminal {
		return text
	}
	return strings.Map(func(r rune) rune {
		if plaintext.Shapeless(r) || unicode.Is(unicode.Join_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, printable(text, "\n\t"))
}

const (
	gap      = 2 // between columns
	narrow   = 2 // no column becomes narrower: a letter and …
	bold     = "\x1b[1m"
	ordinary = "\x1b[0m"
)

// lay writes rows as columns. A plain table fits the terminal: it cuts the widest cells.
func (o *Output) lay(rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
		}
	}
	if o.Format == Table && o.Width > 0 {
		fit(widths, o.Width)
	}
	var b strings.Builder
	for n, row := range rows {
		line := join(row, widths)
		if n == 0 && o.Color {
			line = bold + line + ordinary
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	_, err := io.WriteString(o, b.String())
	return err
}

// join joins cells with padding between them; the last one ends the line.
func join(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		shown := cut(cell, widths[i])
		b.WriteString(shown)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-cells(shown)+gap))
		}
	}
	return b.String()
}

// fit narrows the widest columns until all fit.
func fit(widths []int, room int) {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrow {
			return
		}
		widths[widest]--
	}
}

// text returns a cell in the format for other programs.
func text(cell any) string {
	if p := reflect.ValueOf(cell); p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return ""
		}
		return text(p.Elem().Interface())
	}
	if t, ok := cell.(time.Time); ok {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(cell)
}

// Count returns a number with its noun in the singular or plural: 1 file, 2 files.
func Count(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return strconv.Itoa(n) + " " + one
}

// Printable returns a cell's text. Text that somebody has typed into the API must not control the reader's terminal.
func Printable(cell any) string {
	shown := text(cell)
	if shown == "" {
		return "-"
	}
	return printable(shown, "")
}

// printable returns a text that cannot control the terminal. Of other characters it keeps joiners in words and emojis.
func printable(text, kept string) string {
	return plaintext.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || strings.ContainsRune(kept, r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
