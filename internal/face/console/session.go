package console

import (
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

// SignIn asks a person to sign in, in the ways that the server offers.
type SignIn struct {
	Frame
	ByKey    bool
	ByMail   bool
	Provider string // the name of the identity provider; "": none
	Detail   string // why, if something was wrong
	Then     string // the page to go to
	Sent     string // the form that was sent without being signed in, encoded; may be ""
	Lost     bool   // there was one, too large to be kept
	Email    string // that was typed
	Wrong    string // the field that was wrong; may be ""
}

const (
	sessionPath = "/console/session"
	endPath     = sessionPath + "/end"
	mailPath    = sessionPath + "/mail"

	// maxSessionForm leaves room for a form that was sent without being signed in, encoded again.
	maxSessionForm = 4 * maxForm
)

func signingIn(r *http.Request) bool {
	to := strings.TrimSuffix(r.URL.Path, "/")
	return to == sessionPath || to == mailPath
}

// signIn returns the page that is shown instead of the requested one.
func (c *Console) signIn(r *http.Request, t ErrorPage, err error) SignIn {
	s := SignIn{Frame: t.Frame, ByKey: c.ByKey, ByMail: c.ByMail, Provider: c.Provider, Detail: t.Detail}
	if signingIn(r) {
		s.Email, s.Wrong = strings.ToValidUTF8(r.PostForm.Get("email"), "\uFFFD"), fault.Of(err)[0].Field
		s.Then, s.Sent = r.PostForm.Get("then"), r.PostForm.Get("sent")
		return s
	}
	s.Then, s.Sent = r.URL.RequestURI(), kept(r.PostForm).Encode()
	if r.Method == http.MethodPost && (s.Sent == "" || len(s.Sent) > maxForm) {
		s.Sent, s.Lost = "", true
	}
	return s
}

// kept returns the part of a form that a page may hold: all except possible credentials.
func kept(form url.Values) url.Values {
	keep := maps.Clone(form)
	delete(keep, "key")
	if !harmless(keep.Get("url")) {
		delete(keep, "url")
	}
	if keep.Get("receiver") != keep.Get(was("receiver")) {
		keep.Set("receiver", "") // it is refused, so that it must be typed again
		keep.Set(was("receiver"), "not kept")
	} else {
		delete(keep, "receiver")
		delete(keep, was("receiver"))
	}
	return keep
}

// harmless reports whether the address of a repository holds nothing secret.
func harmless(address string) bool {
	_, err := url.Parse(address)
	return err == nil && !strings.ContainsAny(address, "@?#") || overSSH.MatchString(address)
}

// overSSH matches the address of a repository as git hosts show it for ssh. All users share its user name.
var overSSH = regexp.MustCompile(`^(?:ssh://)?git@([\w.-]+)(?::\d+)?[:/]([^@?#]+)$`)

// withoutSecrets removes what may be secret from the address of a repository; "": it cannot tell.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User = nil
	if strings.Contains(u.String(), "@") {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// Again lets a user resend a form that arrived after their session had ended.
type Again struct {
	Frame
	Path   string
	Fields []field
}

// field is a field with its value, to be shown or sent again.
type field struct{ Name, Value string }

// fieldsOf returns the fields of a form that a page may hold.
func fieldsOf(form url.Values) []field {
	form = kept(form)
	var all []field
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			all = append(all, field{name, strings.ToValidUTF8(value, "\uFFFD")})
		}
	}
	return all
}

// signInByKey signs in with a key. Anybody may send one: wrong ones are counted by address, right ones by user, since
// each stores a session and entries of the activity.
func (c *Console) signInByKey(w http.ResponseWriter, r *http.Request) error {
	if err := c.Check(w, r); err != nil {
		return err
	}
	if err := c.readOwn(w, r, maxSessionForm); err != nil {
		return err
	}
	if err := c.mayKeep(r); err != nil {
		return err
	}
	if !c.ByKey {
		return fault.New(fault.Denied, "This server does not let users sign in with a key.")
	}
	key := strings.TrimSpace(r.PostForm.Get("key"))
	if known, err := c.Keys.Identify(r.Context(), key); err == nil {
		if err := c.LimitUser(w, known.UserID); err != nil {
			return err
		}
	}
	session, err := c.SignIn.ByKey(r.Context(), key, c.draft(w, r))
	if err != nil {
		return err
	}
	identity, err := c.Keys.IdentifySession(r.Context(), session)
	if err != nil {
		return err
	}
	http.SetCookie(w, c.cookie(session))
	then := c.landing(r, identity, r.PostForm.Get("then"))
	if sent, err := url.ParseQuery(r.PostForm.Get("sent")); err == nil && len(sent) > 0 {
		c.Write(w, r, templates, http.StatusOK, markup.Fill("again.html", Again{Frame: c.bare(), Path: then, Fields: fieldsOf(sent)}))
		return nil
	}
	redirectTo(w, then)
	return nil
}

// readOwn reads a form of our own pages.
func (c *Console) readOwn(w http.ResponseWriter, r *http.Request, limit int64) error {
	if err := c.FromHere(r); err != nil {
		return err
	}
	return read(w, r, limit)
}

// read reads a form of at most limit bytes.
func read(w http.ResponseWriter, r *http.Request, limit int64) error {
	err := markup.ReadForm(w, r, limit)
	if err != nil && !fault.Is(err, fault.Busy) {
		return fault.New(fault.Unparsable, "The form did not arrive as a whole, is larger than %d bytes, or has more than %d fields.", limit, markup.MaxFields)
	}
	return err
}

// draft describes the browser that makes a request, for a new session.
func (c *Console) draft(w http.ResponseWriter, r *http.Request) access.SessionDraft {
	return access.SessionDraft{Address: c.Address(r), UserAgent: r.UserAgent(), RequestID: c.RequestID(w)}
}

// mayKeep refuses to sign in a browser that would not keep the session.
func (c *Console) mayKeep(r *http.Request) error {
	if c.secure && cannotKeep(r) {
		return fault.New(fault.Denied, "You can sign in only over https: open %s/console.", c.BaseURL)
	}
	return nil
}

// cannotKeep reports whether a browser would not keep a cookie for https: its request came by http, and not from this
// machine.
func cannotKeep(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Scheme != "http" || origin.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(origin.Hostname())
	return err != nil || !ip.IsLoopback()
}

// signOut ends the session of a browser, and its state as a guest. A session that has ended, or never existed, needs no end.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := c.FromHere(r); err != nil {
		return err
	}
	if err := c.endSessionOf(w, r); err != nil {
		return err
	}
	if err := c.SignIn.EndGuest(r.Context(), c.guestOf(r)); err != nil {
		return err
	}
	forget(w, c.cookie(""))
	forget(w, c.guestCookie(""))
	redirectTo(w, c.root())
	return nil
}

// endSessionOf ends the session that a browser is signed in with.
func (c *Console) endSessionOf(w http.ResponseWriter, r *http.Request) error {
	identity, _, err := c.identify(r)
	if err == nil {
		by, request := identity.Caller(), c.Keys.By(c.draft(w, r), 0)
		by.RequestID, by.Address = request.RequestID, request.Address
		err = c.Keys.EndSession(r.Context(), by, identity.SessionID)
	}
	if err == nil || fault.Is(err, fault.NotAuthenticated) || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// forget makes the browser forget a cookie.
func forget(w http.ResponseWriter, gone *http.Cookie) {
	gone.MaxAge = -1
	http.SetCookie(w, gone)
}

// landing returns the path of the first page: that of invites to be answered, else the requested one, else an
// organization's.
func (c *Console) landing(r *http.Request, identity *access.Identity, then string) string {
	to := c.root()
	if caller, err := c.Keys.Enter(r.Context(), identity, access.Current); err == nil {
		to += "/" + caller.Organization.ID
	}
	to = c.within(then, to)
	if r.PostForm.Get("sent") == "" && c.waiting(r, identity.Caller()) {
		query := url.Values{"then": {strings.TrimPrefix(to, c.prefix)}}
		return c.prefix + ownInvitesPath + "?" + query.Encode()
	}
	return to
}

// within returns address if it leads to a page below the first one, else otherwise. Browsers follow "..", and "%2e%2e"
// too.
func (c *Console) within(address, otherwise string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/console/") || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return otherwise
	}
	return c.prefix + u.RequestURI()
}

// cookie holds a session. Scripts cannot read it, and browsers do not send it with a form of another site.
func (c *Console) cookie(session string) *http.Cookie {
	name := "foyer"
	if c.secure {
		name = "__Host-foyer" // no other host can set it, RFC 6265bis section 4.1.3.2
	}
	return &http.Cookie{
		Name: name, Value: session, Path: "/", MaxAge: int(access.SessionTime.Seconds()),
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// identify returns who a browser is signed in as, and its session.
func (c *Console) identify(r *http.Request) (identity *access.Identity, session string, err error) {
	if session, err = c.sessionOf(r); err == nil {
		identity, err = c.Keys.IdentifySession(r.Context(), session)
	}
	return identity, session, err
}

// sessionOf returns the session that the browser is signed in with.
func (c *Console) sessionOf(r *http.Request) (string, error) {
	cookie, err := r.Cookie(c.cookie("").Name)
	if err != nil {
		return "", fault.New(fault.NotAuthenticated, "") // a first visit: nothing is wrong
	}
	return cookie.Value, nil
}
