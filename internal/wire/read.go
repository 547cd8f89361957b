// Package wire turns request bodies and query parameters into values, and values,
// pages and errors into responses. It is the one place that knows JSON's grammar
// and the one where a fault becomes an HTTP status.
package wire

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"foyer/internal/fault"
)

// The largest request bodies, in bytes.
const (
	MaxBody       = 1 << 20
	MaxSourceBody = 10 << 20
)

// Object is a JSON object as it was sent: its members in order, none twice.
type Object []Member

// Member is one name and its value, which is valid JSON.
type Member struct {
	Name  string
	value jsontext.Value
}

// ReadObject reads a request body that is one JSON object of at most limit bytes.
// No body at all is an empty object.
func ReadObject(w http.ResponseWriter, r *http.Request, limit int64) (Object, error) {
	body, err := readBody(w, r, limit)
	if err != nil || len(body) == 0 {
		return nil, err
	}
	o, other, err := parse(body)
	if err == nil && other != nil {
		return nil, fault.New(fault.Invalid, "The body must be a JSON object, not %s.", kindWord(other))
	}
	return o, err
}

// ReadObjects reads a body that is one object or an array of at most limit
// objects; many tells the two apart.
func ReadObjects(w http.ResponseWriter, r *http.Request, limit int) (objects []Object, many bool, err error) {
	body, err := readBody(w, r, MaxBody)
	if err != nil {
		return nil, false, err
	}
	if len(body) == 0 {
		return []Object{nil}, false, nil
	}
	o, other, err := parse(body)
	switch {
	case err != nil:
		return nil, false, err
	case other == nil:
		return []Object{o}, false, nil
	case other.Kind() == '[':
		objects, err := items(other, limit)
		return objects, true, err
	}
	return nil, false, fault.New(fault.Invalid, "The body must be a JSON object or an array of objects, not %s.", kindWord(other))
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > 0 {
		if err := checkMediaType(r.Header.Get("Content-Type")); err != nil {
			return nil, err
		}
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := slurp(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	if r.ContentLength < 0 && (len(body) > 0 || err != nil) {
		if err := checkMediaType(r.Header.Get("Content-Type")); err != nil {
			return nil, err
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, fault.New(fault.Unparsable, "The body ended before it was complete.")
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "The body must be at most %d bytes long.", limit)
}

// slurp reads everything. How much is expected spares growing, up to a bound: a
// length that is only announced must cost nothing.
func slurp(r io.Reader, expected int64) ([]byte, error) {
	const maxTrusted = 64 << 10
	buf := bytes.NewBuffer(make([]byte, 0, min(max(expected, 0), maxTrusted)+bytes.MinRead))
	_, err := buf.ReadFrom(r)
	return buf.Bytes(), err
}

func checkMediaType(header string) error {
	if header == "application/json" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(header); err == nil && media == "application/json" {
		return nil
	}
	return fault.New(fault.UnsupportedMediaType, "The Content-Type must be application/json.")
}

// parse returns the one value of body: an object, or else some other value.
func parse(body []byte) (o Object, other jsontext.Value, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if d.PeekKind() == '{' {
		o, err = readMembers(d, body)
	} else {
		other, err = d.ReadValue()
	}
	if err != nil {
		return nil, nil, syntaxFault(body, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, nil, fault.New(fault.Unparsable, "The body must be one JSON value; something follows it.")
	}
	return o, other, nil
}

func syntaxFault(body []byte, err error) error {
	if errors.Is(err, errTooMany) {
		return err
	}
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fault.New(fault.Unparsable, "The body is not valid JSON: it ends too early.")
	}
	if strings.Contains(e.Err.Error(), "exceeded max depth") {
		return tooDeep(topField(body, e.JSONPointer))
	}
	if errors.Is(e.Err, jsontext.ErrDuplicateName) {
		return fault.New(fault.Unparsable, "The body is not valid JSON: %q is there twice.", e.JSONPointer.LastToken())
	}
	return fault.New(fault.Unparsable, "The body is not valid JSON: %v (byte %d).", e.Err, e.ByteOffset)
}

// topField is the field of a body that a pointer goes into; items of an array are none.
func topField(body []byte, p jsontext.Pointer) string {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		for name := range p.Tokens() {
			return name
		}
	}
	return ""
}

// members splits an object that parse has checked.
func members(object jsontext.Value) (Object, error) {
	return readMembers(jsontext.NewDecoder(bytes.NewBuffer(object)), object)
}

// maxMembers is how many fields an object may have that is read field by field: a
// body of 10 MiB could have a million.
const maxMembers = 1000

var errTooMany = fault.New(fault.Invalid, "Must have at most %d fields.", maxMembers)

// readMembers reads the object that begins text, which is what d decodes.
func readMembers(d *jsontext.Decoder, text []byte) (Object, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	o := make(Object, 0, 16)
	for d.PeekKind() != '}' {
		if len(o) == maxMembers {
			return nil, errTooMany
		}
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset()) // what ReadValue returns is good until the next call alone
		m.value = text[end-len(value) : end]
		o = append(o, m)
	}
	_, err := d.ReadToken()
	return o, err
}

func items(array jsontext.Value, limit int) ([]Object, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(array))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	objects := []Object{}
	var wrong fault.List
	for i := 0; d.PeekKind() != ']'; i++ {
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if i >= limit {
			return nil, fault.New(fault.TooLong, "At most %d items fit in one request.", limit)
		}
		if value.Kind() != '{' {
			wrong.Add(fault.Field(fault.Invalid, strconv.Itoa(i), "Must be an object, not %s.", kindWord(value)))
			continue
		}
		o, err := members(value.Clone())
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, wrong.Err()
}

func kindWord(v jsontext.Value) string {
	switch v.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	case '"':
		return "a string"
	case '[':
		return "an array"
	default:
		return "an object"
	}
}
