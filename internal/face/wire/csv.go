package wire

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

const mediaCSV = "text/csv"

// parseCSV reads a table (RFC 4180). The first line names the table's columns in any order and must name columns[0].
// Each of the other lines, at least one and at most limit, becomes an object of its non-empty cells.
func parseCSV(body []byte, limit int, columns []string) ([]patch.Field[Object], error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return nil, fault.New(fault.Unparsable, "The body is not valid CSV: it must be UTF-8.")
	}
	lines := csv.NewReader(bytes.NewReader(body))
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	names := slices.Clone(header)
	if err := checkColumns(names, columns); err != nil {
		return nil, err
	}
	var objects []patch.Field[Object]
	for {
		line, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF) && len(objects) > 0:
			return objects, nil
		case err != nil:
			return nil, csvFault(err)
		case len(objects) == limit:
			return nil, fault.New(fault.TooLong, "At most %d items fit in one request.", limit)
		}
		objects = append(objects, patch.Of(ofLine(names, line)))
	}
}

// checkColumns refuses a header that names an unknown column, names one twice, or lacks the first.
func checkColumns(names, columns []string) error {
	for i, name := range names {
		if !slices.Contains(columns, name) {
			return fault.Field(fault.Invalid, name, "There is no such column: the first line may name %s, with commas between them.", strings.Join(columns, ", "))
		}
		if slices.Contains(names[:i], name) {
			return fault.Field(fault.Invalid, name, "The first line must name a column once.")
		}
	}
	if !slices.Contains(names, columns[0]) {
		return fault.Field(fault.Required, columns[0], "The first line must name this column.")
	}
	return nil
}

func ofLine(names, line []string) Object {
	o := make(Object, 0, len(line))
	for i, cell := range line {
		if cell != "" {
			text, _ := jsontext.AppendQuote(nil, cell) // fails on invalid UTF-8, which parseCSV refuses
			o = append(o, Member{Name: names[i], value: value(text)})
		}
	}
	return o
}

func csvFault(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Unparsable, "The body is not a table: a line that names the columns must come first, then one for each item.")
	}
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	return fault.New(fault.Unparsable, "The body is not valid CSV: %v (line %d, column %d).", e.Err, e.Line, e.Column)
}
