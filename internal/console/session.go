package console

import (
	"net/http"
	"net/url"
	"strings"

	"foyer/internal/access"
	"foyer/internal/fault"
)

// SignIn asks for a key.
type SignIn struct {
	Frame
	Detail string // why, if something was wrong
	Then   string // where to go on
}

// goingTo is where a request was to lead that was not signed in.
func goingTo(r *http.Request) string {
	if r.URL.Path == "/console/session" {
		return r.PostForm.Get("then")
	}
	return r.URL.RequestURI()
}

// session signs in or out.
func (c Console) session(w http.ResponseWriter, r *http.Request) {
	err := c.Limit(w, r)
	if err == nil {
		err = c.read(w, r)
	}
	if err != nil {
		c.trouble(w, r, nil, err)
		return
	}
	if r.PostForm.Get("do") == "end" {
		gone := c.cookie("")
		gone.MaxAge = -1
		http.SetCookie(w, gone)
		see(w, c.root())
		return
	}
	key := strings.TrimSpace(r.PostForm.Get("key"))
	identity, err := c.Keys.Identify(r.Context(), key)
	if err != nil {
		c.trouble(w, r, nil, err)
		return
	}
	http.SetCookie(w, c.cookie(c.Sessions.Seal(key, c.Keys.DB.Now())))
	see(w, c.within(r.PostForm.Get("then"), c.first(r, identity)))
}

// first is the path of the page to begin with.
func (c Console) first(r *http.Request, identity *access.Identity) string {
	caller, err := c.Keys.Enter(r.Context(), identity, access.Current)
	if err != nil {
		return c.root()
	}
	return c.root() + "/" + caller.Organization.ID
}

// within is a path if it leads to a page below the first one, else another.
func (c Console) within(path, otherwise string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/console/") {
		return otherwise
	}
	return c.prefix + u.RequestURI()
}

// cookie holds a session. No script can read it, and no form of another site sends it along.
func (c Console) cookie(session string) *http.Cookie {
	name := "foyer"
	if c.secure {
		name = "__Host-foyer" // which no other host can set, RFC 6265bis section 4.1.3.2
	}
	return &http.Cookie{
		Name: name, Value: session, Path: "/", MaxAge: int(access.SessionTime.Seconds()),
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// keyOf is the key that the browser is signed in with.
func (c Console) keyOf(r *http.Request) (string, error) {
	cookie, err := r.Cookie(c.cookie("").Name)
	if err != nil {
		return "", fault.New(fault.NotAuthenticated, "") // a first visit: nothing is wrong
	}
	return c.Sessions.Open(cookie.Value, c.Keys.DB.Now())
}
