package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
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
	fault.Internal:               {http.StatusInternalServerError, serverError, "error"},
	fault.NotAuthenticated:       {http.StatusUnauthorized, authentication, "not_authenticated"},
	fault.AuthenticationFailed:   {http.StatusUnauthorized, authentication, "authentication_failed"},
	fault.Denied:                 {http.StatusForbidden, authentication, "permission_denied"},
	fault.NotFound:               {http.StatusNotFound, invalidRequest, "not_found"},
	fault.MethodNotAllowed:       {http.StatusMethodNotAllowed, invalidRequest, "method_not_allowed"},
	fault.PreconditionFailed:     {http.StatusPreconditionFailed, invalidRequest, "precondition_failed"},
	fault.IdempotencyMismatch:    {http.StatusUnprocessableEntity, invalidRequest, "idempotency_mismatch"},
	fault.IdempotencyInProgress:  {http.StatusConflict, invalidRequest, "idempotency_in_progress"},
	fault.IdempotencySecretShown: {http.StatusConflict, invalidRequest, "idempotency_secret_shown"},
	fault.UnsupportedMediaType:   {http.StatusUnsupportedMediaType, invalidRequest, "unsupported_media_type"},
	fault.TooLarge:               {http.StatusRequestEntityTooLarge, invalidRequest, "request_too_large"},
	fault.Unparsable:             {http.StatusBadRequest, invalidRequest, "parse_error"},
	fault.Required:               {http.StatusBadRequest, validation, "required"},
	fault.Null:                   {http.StatusBadRequest, validation, "null"},
	fault.Blank:                  {http.StatusBadRequest, validation, "blank"},
	fault.TooLong:                {http.StatusBadRequest, validation, "max_length"},
	fault.Invalid:                {http.StatusBadRequest, validation, "invalid_input"},
	fault.InvalidChoice:          {http.StatusBadRequest, validation, "invalid_choice"},
	fault.NotUnique:              {http.StatusBadRequest, validation, "unique"},
	fault.AlreadyMember:          {http.StatusBadRequest, validation, "already_member"},
	fault.ContentChanged:         {http.StatusBadRequest, validation, "content_changed"},
	fault.Throttled:              {http.StatusTooManyRequests, throttled, "throttled"},
	fault.QuotaExceeded:          {http.StatusTooManyRequests, throttled, "quota_exceeded"},
	fault.Expired:                {http.StatusGone, invalidRequest, "expired"},
	fault.Gone:                   {http.StatusGone, invalidRequest, "gone"},
	fault.Busy:                   {http.StatusServiceUnavailable, serverError, "busy"},
	fault.Unavailable:            {http.StatusServiceUnavailable, serverError, "unavailable"},
	fault.UpstreamUnavailable:    {http.StatusBadGateway, serverError, "upstream_unavailable"},
	fault.UpstreamTimeout:        {http.StatusGatewayTimeout, serverError, "upstream_timeout"}, // of the console alone
}

// statusClientClosed is counted when the client disconnected before it got an answer.
const statusClientClosed = 499

// DropIfDisconnected reports whether err comes from a client that disconnected, and ends the request if so. Such an err
// looks like a fault of ours or an upstream's, but it is neither and is not logged.
func DropIfDisconnected(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil || r.Context().Err() == nil || table[fault.Of(err)[0].Kind].status < http.StatusInternalServerError {
		return false
	}
	w.WriteHeader(statusClientClosed)
	return true
}

// Code is the code of an answer with the faults inside err.
func Code(err error) string { return table[fault.Of(err)[0].Kind].code }

// A body may have a million fields, and names that are megabytes long.
const (
	maxFaults = 1000 // in an answer
	maxText   = 1000 // bytes of a text or name in a fault
)

// shortened cuts a text to what fits in an error.
func shortened(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// WriteError answers with the faults inside err. It ignores that the client may have disconnected.
func WriteError(w http.ResponseWriter, err error) {
	buf := getBuffer()
	defer buf.put()
	buf.b = append(AppendError(buf.b, err), '\n')
	h := holderOf(w)
	h.Request.Add(len(buf.b))
	h.Code = Code(err)
	_ = buf.send(w, SetHeaders(w, err), ETag{})
}

// AppendError appends the body of the answer for the faults inside err.
func AppendError(b []byte, err error) []byte {
	faults := fault.Of(err)
	b = appendFault(append(b, '{'), faults[0])
	b = AppendList(AppendName(b, "errors"), faults[:min(len(faults), maxFaults)], func(b []byte, f *fault.Error) []byte {
		return append(appendFault(append(b, '{'), f), '}')
	})
	return append(b, '}')
}

// SetHeaders sets the headers for the first fault inside err and returns its status.
func SetHeaders(w http.ResponseWriter, err error) int {
	first := fault.Of(err)[0]
	status := table[first.Kind].status
	if text := challenge(first); text != "" {
		w.Header().Set("WWW-Authenticate", text)
	}
	if first.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(first.RetryAfter))
	}
	return status
}

// challenge is the WWW-Authenticate header of a fault, "" if it has none (RFC 6750 section 3).
func challenge(f *fault.Error) string {
	switch {
	case f.Kind == fault.NotAuthenticated:
		return "Bearer"
	case f.Kind == fault.AuthenticationFailed:
		return `Bearer error="invalid_token"`
	case f.Scope != "":
		return `Bearer error="insufficient_scope", scope="` + f.Scope + `"`
	}
	return ""
}

func appendFault(b []byte, f *fault.Error) []byte {
	r := table[f.Kind]
	b = AppendField(b, "type", r.kind)
	b = AppendField(b, "code", r.code)
	b = AppendField(b, "detail", shortened(f.Detail))
	return AppendFieldOrNull(b, "attr", shortened(f.Field))
}

// seconds rounds up, so that a client does not retry too early.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
