package markup

import (
	"log/slog"
	"net/http"
)

// Host is what pages need of the server that they are on.
type Host struct {
	Log     *slog.Logger
	BaseURL string // without a slash at the end
	// RequestID names the request that w answers.
	RequestID func(w http.ResponseWriter) string
	// Limit refuses a request whose sender has made too many.
	Limit func(w http.ResponseWriter, r *http.Request) error
}

// Write answers with p. One that cannot be rendered is logged, and told in plain text.
func (h Host) Write(w http.ResponseWriter, r *http.Request, t Templates, status int, p Page) {
	if err := t.Write(w, status, p); err != nil {
		h.Log.ErrorContext(r.Context(), "page not written", "request_id", h.RequestID(w), "error", err.Error())
		http.Error(w, "Something went wrong on our side.", http.StatusInternalServerError)
	}
}
