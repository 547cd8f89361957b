package markup

import (
	"fmt"
	"net/http"
	"net/url"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// Host is what pages need of the server that they are on.
type Host struct {
	BaseURL string // without a slash at the end
	// RequestID names the request that w answers.
	RequestID func(w http.ResponseWriter) string
	// Report logs why a request failed, if that is not the sender's doing.
	Report func(w http.ResponseWriter, r *http.Request, err error)
	// Check refuses a request whose sender has made too many that were wrong.
	Check func(w http.ResponseWriter, r *http.Request) error
	// Limit counts a request that was wrong, and refuses it if its sender has made too many.
	Limit func(w http.ResponseWriter, r *http.Request) error
	// Address is where a request comes from.
	Address func(r *http.Request) string
	// Network is what a request counts as where a client may do something so often.
	Network func(r *http.Request) string
}

// Base is BaseURL, whose path browsers see before ours.
func (h Host) Base() *url.URL {
	base, err := url.Parse(h.BaseURL)
	if err != nil {
		panic(err) // config.baseURL has read it
	}
	return base
}

// Write answers with p. If it cannot be rendered, that is logged and told in plain text.
func (h Host) Write(w http.ResponseWriter, r *http.Request, t Templates, status int, p Page) {
	h.orPlain(w, r, t.Write(w, status, p))
}

// WriteRendered is Write for a page that was rendered before.
func (h Host) WriteRendered(w http.ResponseWriter, r *http.Request, t Templates, status int, body []byte) {
	h.orPlain(w, r, t.WriteRendered(w, status, body))
}

// orPlain says in plain text why a page cannot be shown.
func (h Host) orPlain(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		h.Report(w, r, err)
		http.Error(w, fault.Of(err)[0].Detail, wire.SetHeaders(w, err))
	}
}

// FromHere refuses a form that is not from a page of ours: what a browser keeps for us it sends
// along, whoever made the form. Browsers that do not say where a form comes from by Sec-Fetch-Site
// say it by Origin.
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
