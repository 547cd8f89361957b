// Package wire turns request bodies and query parameters into values, and values, pages and errors into responses. It
// alone parses JSON and maps faults to HTTP statuses.
package wire

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/patch"
)

// The largest request bodies, in bytes.
const (
	MaxBody       = 1 << 20
	MaxSourceBody = 14 << 20
	MaxSignupBody = 64 << 10 // anyone can send it without a key, and it is held until it is complete
)

// Object is a JSON object as sent: its members in order, with unique names.
type Object []Member

// Member is one name and its value. Both share the memory of the body.
type Member struct {
	Name  string
	value value
}

// ReadObject reads a request body that is one JSON object of at most limit bytes. A missing body counts as an empty
// object.
func ReadObject(w http.ResponseWriter, r *http.Request, limit int64) (Object, error) {
	buf := getBuffer()
	defer buf.put()
	if err := buf.receive(w, r, limit, mediaJSON); err != nil {
		return nil, err
	}
	body, err := inTurn(r, buf.b, parse)
	switch {
	case err != nil:
		return nil, err
	case body == "":
		return nil, StrictFaults(r)
	case body.kind() != '{':
		return nil, fault.New(fault.Invalid, "The body must be a JSON object, not %s.", body.kindWord())
	}
	o, err := body.members()
	return o, cmp.Or(err, refuseUnknown(r, o))
}

// ReadObjects reads a body that is one object, an array of at most limit objects, or a text/csv table with these
// columns, of which the first is required. many is false for a single object. An item that is not an object has a fault
// on its index.
func ReadObjects(w http.ResponseWriter, r *http.Request, limit int, columns ...string) (objects []patch.Field[Object], many bool, err error) {
	buf := getBuffer()
	defer buf.put()
	if err := buf.receive(w, r, MaxBody, mediaJSON, mediaCSV); err != nil {
		return nil, false, err
	}
	if len(buf.b) > 0 && mediaType(r) == mediaCSV {
		objects, err := inTurn(r, buf.b, func(body []byte) ([]patch.Field[Object], error) { return parseCSV(body, limit, columns) })
		return objects, true, cmp.Or(err, refuseUnknownOf(r, objects))
	}
	body, err := inTurn(r, buf.b, parse)
	switch {
	case err != nil:
		return nil, false, err
	case body == "":
		return []patch.Field[Object]{{}}, false, nil
	case body.kind() == '{':
		o, err := body.members()
		return []patch.Field[Object]{patch.Of(o)}, false, cmp.Or(err, refuseUnknown(r, o))
	case body.kind() == '[':
		objects, err := body.objects(limit)
		return objects, true, cmp.Or(err, refuseUnknownOf(r, objects))
	}
	return nil, false, fault.New(fault.Invalid, "The body must be a JSON object or an array of objects, not %s.", body.kindWord())
}

// receive reads a body. Unless it is empty, it must have one of the media types.
func (buf *buffer) receive(w http.ResponseWriter, r *http.Request, limit int64, media ...string) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > 0 {
		if err := checkMediaType(w, r, media); err != nil {
			return err
		}
	}
	err := buf.readBody(w, r, limit)
	if r.ContentLength < 0 && (len(buf.b) > 0 || err != nil) {
		if err := checkMediaType(w, r, media); err != nil {
			return err
		}
	}
	return err
}

// Buffer reads the body of a request and puts it back, so that it can be read from r again.
func Buffer(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	var buf buffer
	if err := buf.readBody(w, r, MaxSourceBody); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(buf.b))
	return buf.b, nil
}

// Body returns a reader of at most limit bytes of a request's body, and counts them towards the memory that the request
// holds.
func Body(w http.ResponseWriter, r *http.Request, limit int64) io.Reader {
	return inflight.From(r.Context()).Reader(http.MaxBytesReader(w, r.Body, limit))
}

// readBody reads a body of at most limit bytes.
func (buf *buffer) readBody(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		if r.Header.Get("Expect") == "" { // otherwise the client has not begun to send it
			Discard(r)
		}
		return tooLarge(limit)
	}
	all := bytes.NewBuffer(buf.b)
	_, err := all.ReadFrom(Body(w, r, limit))
	buf.b = all.Bytes()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		Discard(r)
		return tooLarge(limit)
	}
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Busy):
		*buf = buffer{}
		Discard(r)
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.Unparsable, "The body took too long to arrive: it was not complete when the server stopped waiting.")
	}
	return fault.New(fault.Unparsable, "The body ended before it was complete.")
}

// small is the size in bytes up to which a body is parsed at once, as most are. Parsing a larger one may take ten times
// its memory, for its names.
const small = 64 << 10

// inTurn parses a body; a large one waits for the request's turn.
func inTurn[T any](r *http.Request, body []byte, parse func([]byte) (T, error)) (parsed T, err error) {
	if len(body) > small {
		leave, err := inflight.From(r.Context()).Enter(r.Context())
		if err != nil { // the client disconnected, or the wait was too long
			return parsed, err
		}
		defer leave()
	}
	return parse(body)
}

// Discard reads the rest of a body, up to a limit. Otherwise a client that reads only after it has sent everything gets
// a connection reset instead of the answer.
func Discard(r *http.Request) {
	const most = 32 << 20                     // bytes
	_, _ = io.CopyN(io.Discard, r.Body, most) // an error here comes up again later
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "The body must be at most %d bytes long.", limit)
}

const mediaJSON = "application/json"

// mediaType returns the media type of a body without parameters, or "" if the header is malformed.
func mediaType(r *http.Request) string {
	header := r.Header.Get("Content-Type")
	if header == mediaJSON {
		return header
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return media
}

func checkMediaType(w http.ResponseWriter, r *http.Request, wanted []string) error {
	coding := r.Header.Get("Content-Encoding")
	compressed := coding != "" && !strings.EqualFold(coding, "identity")
	if !compressed && slices.Contains(wanted, mediaType(r)) {
		return nil
	}
	if r.Method == http.MethodPatch { // RFC 5789 section 2.2
		w.Header().Set("Accept-Patch", mediaJSON)
	}
	if compressed { // RFC 9110 section 15.5.16
		return fault.New(fault.UnsupportedMediaType, "The body must not be compressed: send it without Content-Encoding.")
	}
	return fault.New(fault.UnsupportedMediaType, "The Content-Type must be %s.", strings.Join(wanted, " or "))
}

// parse checks that a body is one JSON value, or empty. IsValid is quick but does not say what is wrong, so it is tried
// on small bodies only.
func parse(body []byte) (value, error) {
	if len(body) == 0 {
		return "", nil
	}
	if len(body) <= small && jsontext.Value(body).IsValid() {
		return value(bytes.Trim(body, space)), nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := readValue(d); err != nil {
		return "", syntaxFault(body, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return "", fault.New(fault.Unparsable, "The body must be one JSON value; something follows it.")
	}
	return value(bytes.Trim(body, space)), nil
}

// IsValue reports whether a text is one JSON value in which no object has a duplicate name.
func IsValue(text []byte) bool { return jsontext.Value(text).IsValid() }

// readValue reads a value, an object member by member, up to the first error.
func readValue(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		_, err := d.ReadValue()
		return err
	}
	_, err := d.ReadToken()
	for n := 0; err == nil && d.PeekKind() != '}'; n++ {
		if n == maxMembers {
			return errTooMany
		}
		if _, err = d.ReadToken(); err == nil {
			_, err = d.ReadValue()
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
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
		return fault.New(fault.Unparsable, "The body is not valid JSON: %q appears twice.", e.JSONPointer.LastToken())
	}
	return fault.New(fault.Unparsable, "The body is not valid JSON: %v (byte %d).", e.Err, e.ByteOffset)
}

// topField returns the top-level field that a pointer leads into, or "" if the body is an array.
func topField(body []byte, p jsontext.Pointer) string {
	if bytes.HasPrefix(bytes.TrimLeft(body, space), []byte("{")) {
		for name := range p.Tokens() {
			return name
		}
	}
	return ""
}

// maxMembers limits the fields of an object that is read field by field: 14 MiB could hold a million.
const maxMembers = 1000

var errTooMany = fault.New(fault.Invalid, "Must have at most %d fields.", maxMembers)

// members splits an object.
func (v value) members() (Object, error) {
	o := make(Object, 0, 16)
	for rest := v.inside(); rest != ""; {
		if len(o) == maxMembers {
			return nil, errTooMany
		}
		var key, member value
		key, rest = rest.next()
		member, rest = rest.next()
		o = append(o, Member{Name: key.name(), value: member})
	}
	return o, nil
}

// objects splits an array of at most limit objects.
func (v value) objects(limit int) ([]patch.Field[Object], error) {
	objects := []patch.Field[Object]{}
	for i, item := range v.items() {
		if i >= limit {
			return nil, fault.New(fault.TooLong, "At most %d items fit in one request.", limit)
		}
		if item.kind() != '{' {
			objects = append(objects, wrong[Object](strconv.Itoa(i), "an object", item))
			continue
		}
		o, err := item.members()
		if err != nil {
			return nil, err
		}
		objects = append(objects, patch.Of(o))
	}
	return objects, nil
}
