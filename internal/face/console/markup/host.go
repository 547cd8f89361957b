package markup

import (
	"fmt"
	"net/http"
	"net/url"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// Host is what pages need from their server.
type Host struct {
	BaseURL string // without a slash at the end
	// RequestID names the request that w answers.
	RequestID func(w http.ResponseWriter) string
	// Report logs why a request failed, unless the sender caused it.
	Report func(w http.ResponseWriter, r *http.Request, err error)
	// Check refuses a request if its sender has made too many wrong ones.
	Check func(w http.ResponseWriter, r *http.Request) error
	// Limit counts a wrong request, and refuses it if its sender has made too many.
	Limit func(w http.ResponseWriter, r *http.Request) error
	// Address returns the address that a request comes from.
	Address func(r *http.Request) string
	// Network returns the network that a request counts for in rate limits.
	Network func(r *http.Request) string
}

// Base is BaseURL. Browsers see its path before ours.
func (h Host) Base() *url.URL {
	base, err := url.Parse(h.BaseURL)
	if err != nil {
		panic(err) // config.baseURL has parsed it
	}
	return base
}

// Write answers with p. If p cannot be rendered, it logs the error and answers in plain text.
func (h Host) Write(w http.ResponseWriter, r *http.Request, t Templates, status int, p Page) {
	h.OrPlain(w, r, t.Write(w, status, p))
}

// WriteRendered is Write, with the status 200, for a page that was rendered before.
func (h Host) WriteRendered(w http.ResponseWriter, r *http.Request, t Templates, body []byte) {
	h.OrPlain(w, r, t.WriteRendered(w, http.StatusOK, body))
}

// OrPlain answers in plain text why a page cannot be shown, if there is an error.
func (h Host) OrPlain(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		h.Report(w, r, err)
		http.Error(w, fault.Of(err)[0].Detail, wire.SetHeaders(w, err))
	}
}

// FromHere refuses a form that is not from a page of ours: a browser sends our cookies along with a form from anywhere.
// Browsers that do not send Sec-Fetch-Site name the form's site in Origin.
func (h Host) FromHere(r *http.Request) error {
	base, protection := h.Base(), http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return fmt.Errorf("base url: %w", err)
	}
	if protection.Check(r) != nil {
		return fault.New(fault.Denied, "The form comes from another site, or the proxy changes the name of this one: open the page here.")
	}
	return nil
}
