package console

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"foyer/internal/domain/signin"
)

const (
	providerPath = sessionPath + "/oidc"
	// CallbackPath is the path to which the identity provider redirects people.
	CallbackPath = providerPath + "/callback"

	// maxThen is the longest path that is kept while somebody is at the provider: a cookie
	// holds it.
	maxThen = 1000
)

// toProvider sends the browser to the identity provider.
func (c *Console) toProvider(w http.ResponseWriter, r *http.Request) error {
	if err := c.mayKeep(r); err != nil {
		return err
	}
	then := r.URL.Query().Get("then")
	if len(then) > maxThen {
		then = ""
	}
	url, kept, err := c.SignIn.Begin(r.Context(), then)
	if err != nil {
		return err
	}
	http.SetCookie(w, c.flowCookie(kept))
	redirectTo(w, url)
	return nil
}

// fromProvider signs in the user that the provider redirects here.
func (c *Console) fromProvider(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	back := signin.Return{State: query.Get("state"), Code: query.Get("code"), ErrorCode: query.Get("error")}
	if cookie, err := r.Cookie(c.flowCookie("").Name); err == nil {
		back.Kept = cookie.Value
	}
	in, then, err := c.SignIn.Finish(r.Context(), back, c.draft(w, r))
	if !errors.Is(err, signin.ErrNoFlow) { // else the browser keeps another tab's sign-in, which may still be finished
		forget(w, c.flowCookie(""))
	}
	if err != nil {
		return err
	}
	return c.enter(w, r, in, then)
}

// flowCookie holds what a browser keeps during the sign-in at the provider.
func (c *Console) flowCookie(kept string) *http.Cookie {
	return c.shortCookie("oidc", kept, signin.FlowTime)
}

// shortCookie is a cookie with a shorter life than a session.
func (c *Console) shortCookie(name, value string, lasts time.Duration) *http.Cookie {
	cookie := c.cookie(value)
	cookie.Name = strings.Replace(cookie.Name, "foyer", "foyer-"+name, 1)
	cookie.MaxAge = int(lasts.Seconds())
	return cookie
}
