package wire

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"foyer/internal/fault"
)

// row is one line of the table of errors in docs/api.md.
type row struct {
	status     int
	kind, code string
}

const (
	authentication = "authentication_error"
	invalidRequest = "invalid_request"
	validation     = "validation_error"
	throttled      = "throttled_error"
	serverError    = "server_error"
)

var table = map[fault.Kind]row{
	fault.Internal:             {http.StatusInternalServerError, serverError, "error"},
	fault.NotAuthenticated:     {http.StatusUnauthorized, authentication, "not_authenticated"},
	fault.AuthenticationFailed: {http.StatusUnauthorized, authentication, "authentication_failed"},
	fault.Denied:               {http.StatusForbidden, authentication, "permission_denied"},
	fault.NotFound:             {http.StatusNotFound, invalidRequest, "not_found"},
	fault.MethodNotAllowed:     {http.StatusMethodNotAllowed, invalidRequest, "method_not_allowed"},
	fault.PreconditionFailed:   {http.StatusPreconditionFailed, invalidRequest, "precondition_failed"},
	fault.UnsupportedMediaType: {http.StatusUnsupportedMediaType, invalidRequest, "unsupported_media_type"},
	fault.TooLarge:             {http.StatusRequestEntityTooLarge, invalidRequest, "request_too_large"},
	fault.Unparsable:           {http.StatusBadRequest, invalidRequest, "parse_error"},
	fault.Required:             {http.StatusBadRequest, validation, "required"},
	fault.Null:                 {http.StatusBadRequest, validation, "null"},
	fault.Blank:                {http.StatusBadRequest, validation, "blank"},
	fault.TooLong:              {http.StatusBadRequest, validation, "max_length"},
	fault.Invalid:              {http.StatusBadRequest, validation, "invalid_input"},
	fault.InvalidChoice:        {http.StatusBadRequest, validation, "invalid_choice"},
	fault.NotUnique:            {http.StatusBadRequest, validation, "unique"},
	fault.ContentChanged:       {http.StatusBadRequest, validation, "content_changed"},
	fault.Throttled:            {http.StatusTooManyRequests, throttled, "throttled"},
	fault.Expired:              {http.StatusGone, invalidRequest, "expired"},
	fault.Busy:                 {http.StatusServiceUnavailable, serverError, "busy"},
	fault.UpstreamUnavailable:  {http.StatusBadGateway, serverError, "upstream_unavailable"},
}

// statusClientClosed is counted when nobody waits for the answer any more.
const statusClientClosed = 499

// DropIfHungUp reports whether err comes of a client that no longer waits, and ends the request
// if so: though err looks like a fault of ours or an upstream's, it is none and is not logged.
func DropIfHungUp(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil || r.Context().Err() == nil || table[fault.Of(err)[0].Kind].status < http.StatusInternalServerError {
		return false
	}
	w.WriteHeader(statusClientClosed)
	return true
}

// WriteError answers with the faults inside err.
func WriteError(w http.ResponseWriter, err error) error {
	faults := fault.Of(err)
	return Write(w, SetHeaders(w, err), func(b []byte) []byte {
		b = appendFault(append(b, '{'), faults[0])
		b = AppendList(AppendName(b, "errors"), faults, func(b []byte, f *fault.Error) []byte {
			return append(appendFault(append(b, '{'), f), '}')
		})
		return append(b, '}')
	})
}

// SetHeaders sets the headers that the first fault inside err asks for, and returns its
// status.
func SetHeaders(w http.ResponseWriter, err error) int {
	first := fault.Of(err)[0]
	status := table[first.Kind].status
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if first.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(first.RetryAfter))
	}
	return status
}

func appendFault(b []byte, f *fault.Error) []byte {
	r := table[f.Kind]
	b = AppendField(b, "type", r.kind)
	b = AppendField(b, "code", r.code)
	b = AppendField(b, "detail", f.Detail)
	if f.Field == "" {
		return AppendJSON(b, "attr", "")
	}
	return AppendField(b, "attr", f.Field)
}

// seconds rounds up, so that who waits as long has waited enough.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
