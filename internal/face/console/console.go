// Package console is the HTML face of foyer: pages on which members do by hand what the API
// can do.
package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/signin"
	"foyer/internal/domain/source"
	"foyer/internal/face/console/dedup"
	"foyer/internal/face/console/editor"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// Console serves the pages on which members do by hand what the API can do. It has no rules of its own: each page asks
// the API in the viewer's session (ADR 10).
type Console struct {
	markup.Host
	Keys *access.Keys
	// LimitUser counts a request of a user, and refuses it if the user has made too many.
	LimitUser     func(w http.ResponseWriter, userID int64) error
	SignIn        signin.Service
	Addresses     addresschange.Service
	ByKey, ByMail bool          // people may sign in this way
	Provider      string        // the name of the identity provider; "": none
	Mails         bool          // there is a mail server
	InviteTTL     time.Duration // the longest life of an invite
	// Preview writes the mail that an invite would send.
	Preview func(context.Context, access.Caller, invite.Draft) (invite.Preview, error)
	// TryKey returns the key of the try page of the site with a token.
	TryKey func(siteToken string) string
	// ReviewInstall finds out what installing an app of the catalog would make.
	ReviewInstall func(ctx context.Context, c access.Caller, url string) (plugin.InstallReview, error)
	// Compare lists the differences between two sets of files.
	Compare func(ctx context.Context, c access.Caller, before, after map[string]string) ([]source.Diff, error)

	api     http.Handler
	prefix  string // the base url's path, which browsers see before ours
	secure  bool   // browsers use https
	forms   *dedup.Forms[next]
	entered *dedup.Forms[signin.Entered]       // by links, and as guests
	changed *dedup.Forms[addresschange.Change] // by links
	mailed  *dedup.Forms[struct{}]             // links to sign in with
}

// ErrorPage is the page for an error.
type ErrorPage struct {
	Frame
	Heading   string
	Detail    string  // safe to show, like a fault's
	Back      NavLink // a page to go on from
	Activity  string  // the path of the activity of the page's subject; "": there is none
	RequestID string  // finds the reason in the log; may be ""
	Fields    []field // of the form, to be sent again
	Lost      bool    // there was a form, too large for that
}

// screen is a page, and the actions of its buttons.
type screen struct {
	show  func(*visit) (markup.Page, error)
	do    map[string]action
	bytes int64 // the largest form; 0: maxForm
}

// action does what a button says. The button's value names it.
type action func(*visit) (next, error)

// next is what follows an action: a page that is shown only now, or another to go to. The
// zero next is the page of the button.
type next struct {
	page    *markup.Page
	shown   []byte // the page, as it is sent
	path    string // as browsers see it
	flash   string // what was done, shown on the next page
	signOut bool
}

// size returns the bytes of the page, the path and the flash.
func (n next) size() int { return len(n.shown) + len(n.path) + len(n.flash) }

// screens lists all pages on one screen, by their paths.
func screens() map[string]screen {
	const (
		organization = "/{organization}"
		apps         = organization + "/apps"
		app          = apps + "/{id}"
		aSite        = organization + "/sites/{site}"
	)
	return map[string]screen{
		"":                                      {show: showOrganizations},
		"/keys":                                 {show: showKeys, do: map[string]action{"make": makeKey, "revoke": revokeKey}},
		"/profile":                              {show: showProfile, do: map[string]action{"names": changeNames, "address": changeAddress}},
		"/invitations":                          {show: showOwnInvites, do: map[string]action{"accept": acceptOwnInvite, "decline": declineOwnInvite}},
		"/sessions":                             {show: showSessions, do: map[string]action{"end": endSession, "all": endSessions}},
		organization:                            {show: showOverview},
		organization + "/search":                {show: showSearch},
		apps:                                    {show: showApps, do: map[string]action{"review": reviewUpgrades, "upgrade": upgradeApps, "check": checkApps}},
		apps + "/new":                           {show: showInstall, do: map[string]action{"git": installFromGit, "catalog": installFromCatalog, "source": createApp}, bytes: maxLongForm},
		apps + "/catalog":                       {show: showEntry},
		apps + "/unused":                        {show: showUnused},
		app:                                     {show: showApp, do: map[string]action{"check": checkApp, "describe": describeApp, "relocate": relocateApp, "delete": deleteApp, "disable": disableApp, "enable": enableApp}, bytes: maxLongForm},
		app + "/source":                         {show: showSource, do: map[string]action{"save": saveFiles, "review": reviewFiles}, bytes: maxSourceForm},
		app + "/source/upload":                  {show: showUpload, do: map[string]action{"save": saveUpload, "review": reviewUpload}, bytes: maxSourceForm},
		app + "/versions":                       {show: showVersions},
		app + "/versions/{version}":             {show: showVersion, do: map[string]action{"return": returnToVersion, "withdraw": withdrawVersion, "unwithdraw": restoreVersion}},
		app + "/upgrade":                        {show: showUpgrade, do: map[string]action{"upgrade": upgradeApp}},
		app + "/place":                          {show: showPlace, do: map[string]action{"place": placeHere}},
		app + "/compare":                        {show: showComparison},
		organization + "/sites":                 {show: showSites, do: map[string]action{"create": createSite}},
		aSite:                                   {show: showSite, do: map[string]action{"place": placeApp, "move": moveApp, "describe": describeSite, "switch": switchSite, "delete": deleteSite}},
		aSite + "/history":                      {show: showHistory, do: map[string]action{"restore": restoreSite}},
		aSite + "/health":                       {show: showSiteHealth},
		aSite + "/apps/{app}":                   {show: showPlacement, do: map[string]action{"save": savePlacement, "preview": previewPlacement, "remove": removePlacement}, bytes: maxPlacedForm},
		organization + "/activity":              {show: showActivity},
		organization + "/audit":                 {show: showAudit},
		organization + "/invites":               {show: showInvites, do: map[string]action{"resend": resendInvites, "link": linkInvite, "withdraw": withdrawInvites, "forget": forgetInvite}},
		organization + "/invites/new":           {show: showInviting, do: map[string]action{"invite": invitePeople, "preview": previewMail, "introduce": introduce}, bytes: maxLongForm},
		organization + "/keys":                  {show: showMemberKeys, do: map[string]action{"revoke": revokeMemberKey}},
		organization + "/settings":              {show: showSettings, do: map[string]action{"set": changeSettings}},
		organization + "/webhooks":              {show: showWebhooks, do: map[string]action{"create": createWebhook}},
		organization + "/webhooks/{webhook}":    {show: showWebhook, do: map[string]action{"describe": describeWebhook, "switch": switchWebhook, "test": testWebhook, "rotate": rotateWebhook, "redeliver": redeliver, "delete": deleteWebhook}},
		organization + "/members":               {show: showMembers},
		organization + "/members/{member}/role": {show: showRole, do: map[string]action{"level": setLevel}},
		organization + "/members/{member}/remove": {show: showRemoval, do: map[string]action{"remove": removeMember}},
	}
}

// root is the path of the first page, as browsers see it.
func (c *Console) root() string { return c.prefix + "/console" }

// bare returns the frame of a page that is the same for every viewer.
func (c *Console) bare() Frame { return Frame{Prefix: c.prefix, Root: c.root(), Home: c.root()} }

const (
	maxForm       = 64 << 10
	maxLongForm   = 4 * maxForm // a description twice, at up to twelve bytes a character; or a message with addresses
	maxPlacedForm = 4 << 20     // values of 256 KiB and paths, twice, at up to three bytes a byte
	maxSourceForm = 16 << 20    // a zip, or files of 2 MiB, at up to six bytes a line end
)

// Register adds the console to a mux. The console asks that mux's API.
func (c *Console) Register(to *wire.Mux) {
	base := c.Base()
	c.api, c.prefix, c.secure = to, base.EscapedPath(), base.Scheme == "https"
	c.forms, c.entered, c.changed = dedup.New(next.size), dedup.New[signin.Entered](nil), dedup.New[addresschange.Change](nil)
	c.mailed = dedup.New[struct{}](nil)
	first := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { redirectTo(w, c.root()) })
	for _, path := range []string{"/signin/{token}", "/signin"} { // the last: a link that was cut off
		to.Handle(path, wire.Secret(wire.Methods{http.MethodGet: c.linkPage(c.showLink), http.MethodPost: c.linkPage(c.useLink)}))
	}
	for _, path := range []string{"/address/{token}", "/address"} {
		to.Handle(path, wire.Secret(wire.Methods{http.MethodGet: c.linkPage(c.showChange), http.MethodPost: c.linkPage(c.makeChange)}))
	}
	pages := map[string]wire.Methods{
		guestPath:    {http.MethodGet: c.asGuest(c.showGuest), http.MethodPost: c.asGuest(c.answerGuest)},
		providerPath: {http.MethodGet: c.linkPage(c.toProvider)},
		CallbackPath: {http.MethodGet: c.linkPage(c.fromProvider)},
		mailPath:     {http.MethodGet: first, http.MethodPost: c.forAnybody(c.mailLink)},
		sessionPath:  {http.MethodGet: first, http.MethodPost: c.forAnybody(c.signInByKey)},
		endPath:      {http.MethodGet: first, http.MethodPost: c.forAnybody(c.signOut)},
	}
	for path, s := range screens() {
		pages["/console"+path] = wire.Methods{http.MethodGet: c.page(s.show), http.MethodPost: c.button(s)}
	}
	nothing := private(wire.Get(c.page(func(*visit) (markup.Page, error) { return markup.Page{}, access.ErrNotFound })))
	for _, path := range []string{"/console/", "/console/{organization}/"} {
		to.Handle(path, nothing)
	}
	to.Handle("/console/{organization}/audit/export", private(wire.Get(http.HandlerFunc(c.exportAudit))))
	to.Handle("/console/{organization}/apps/{id}/source/zip", private(wire.Get(http.HandlerFunc(c.downloadSource))))
	to.Handle(markup.Enhancements.Path, wire.Get(markup.Enhancements))
	to.Handle(editor.Script.Path, wire.Get(editor.Script))
	for path, h := range pages {
		to.Handle(path, private(h))
	}
}

// private keeps the answers of h out of caches, and their addresses from other sites. Without any referrer, some browsers
// would not say where a form comes from.
func private(h http.Handler) http.Handler {
	return wire.Secret(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Referrer-Policy", "same-origin")
		h.ServeHTTP(w, r)
	}))
}

// forAnybody answers with the result of do, for clients that need not be signed in.
func (c *Console) forAnybody(do func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			c.fail(w, r, nil, err)
		}
	})
}

// page answers with the page that show returns, for a signed-in user.
func (c *Console) page(show func(*visit) (markup.Page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := c.visit(w, r)
		if err != nil {
			c.fail(w, r, v, err)
			return
		}
		c.show(w, r, v, show)
	})
}

// show answers with the page that show returns, which includes what was wrong with a form or a filter.
func (c *Console) show(w http.ResponseWriter, r *http.Request, v *visit, show func(*visit) (markup.Page, error)) {
	page, err := show(v)
	if err != nil {
		c.fail(w, r, v, err)
		return
	}
	status := http.StatusOK
	if v.refused != nil {
		status = v.refused.Status
	}
	c.Write(w, r, templates, status, page)
}

// button does what the form of a page asks for, and redirects the browser. If the API refuses, it shows why on the page
// of the form.
func (c *Console) button(s screen) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, then, err := c.submit(w, r, s)
		refused, ok := errors.AsType[*client.Error](err)
		switch {
		case ok && correctable(refused.Status):
			v.refuse(*refused)
			askLater(w, refused)
			c.show(w, r, v, s.show)
		case err != nil:
			c.fail(w, r, v, err)
		case then.shown != nil:
			c.WriteRendered(w, r, templates, then.shown)
		default:
			c.redirect(w, v, then)
		}
	})
}

func (c *Console) submit(w http.ResponseWriter, r *http.Request, s screen) (*visit, next, error) {
	if err := c.FromHere(r); err != nil {
		return nil, next{}, err
	}
	v, err := c.visit(w, r)
	limit := int64(maxForm)
	if err == nil && s.bytes > 0 { // a large form is read only after the API has answered for the path
		if err = v.checkPath(); err == nil { //nolint:contextcheck // it has the request's
			limit = s.bytes
		}
	}
	if unread := read(w, r, limit); err == nil { // read in any case: fail gives back what was typed
		err = unread
	}
	if err != nil {
		return v, next{}, err
	}
	if by := r.PostForm.Get("person"); by != "" && by != strconv.FormatInt(v.identity.UserID, 10) {
		return v, next{}, fault.New(fault.Denied, "You opened this form as another user than the one who is signed in now: open the page again.")
	}
	do, ok := s.do[r.PostForm.Get("do")]
	if !ok {
		return v, next{}, fault.New(fault.InvalidChoice, "The form does not say what to do: open the page again.")
	}
	sender := fmt.Sprintf("%d %s", v.caller.SessionID, r.URL.Path)
	content := sha256.Sum256([]byte(r.PostForm.Encode()))
	then, err := c.forms.Do(r.Context(), sender, r.PostForm.Get("form"), string(content[:]), func(ctx context.Context) (next, error) {
		v.request = r.WithContext(ctx)
		then, err := do(v)
		if err == nil && then.page != nil { // its contents may be many times larger
			then.shown, err = templates.Render(*then.page)
			then.page = nil
		}
		return then, err
	})
	return v, then, err
}

// correctable reports whether the API's refusal is better shown beside the form.
func correctable(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusInternalServerError
}

// redirect sends the browser to a page that can be reloaded without repeating the action.
func (c *Console) redirect(w http.ResponseWriter, v *visit, then next) {
	path := then.path
	if path == "" {
		path = v.here()
	}
	if then.signOut {
		forget(w, c.cookie(""))
	}
	c.setFlash(w, then.flash)
	redirectTo(w, path)
}

// redirectTo sends the browser to another page.
func redirectTo(w http.ResponseWriter, path string) {
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusSeeOther)
}

// askLater passes on when to try again, if the API said so.
func askLater(w http.ResponseWriter, refused *client.Error) {
	if refused.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(refused.RetryAfter.Seconds())))
	}
}

// fail answers with an error that is not shown beside a form.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if wire.DropIfDisconnected(w, r, err) {
		return
	}
	if !fault.IsOurs(err) && !fault.Is(err, fault.Throttled) { // the API counted it already; to us it is Internal
		err = cmp.Or(c.Limit(w, r), err)
	}
	shown := ErrorPage{Frame: c.bare()}
	status := c.describe(w, r, err, &shown)
	if status == http.StatusUnauthorized || signingIn(r) {
		shown.Flash = c.takeFlash(w, r)
		c.Write(w, r, templates, status, markup.Fill("sign_in.html", c.signIn(r, shown, err)))
		return
	}
	shown.Heading, shown.Back = "That did not work", NavLink{"Go to your organizations", shown.Home}
	if v != nil {
		v.frameError(&shown, status)
		v.leadOn(&shown, status)
	}
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		shown.Fields = fieldsOf(r.PostForm)
		shown.Lost = r.Method == http.MethodPost && len(shown.Fields) == 0
	}
	shown.Lost = shown.Lost || fault.Is(err, fault.Unparsable)
	c.Write(w, r, templates, status, markup.Fill("error.html", shown))
}

// describe describes an error, and returns its status. The API has logged what it did not say.
func (c *Console) describe(w http.ResponseWriter, r *http.Request, err error, shown *ErrorPage) int {
	refused, ok := errors.AsType[*client.Error](err)
	if ok {
		shown.Detail = refused.Detail
		askLater(w, refused)
		if refused.Status >= http.StatusInternalServerError {
			shown.RequestID = c.RequestID(w)
		}
		return refused.Status
	}
	first := fault.Of(err)[0]
	shown.Detail = first.Detail
	if first.Cause != nil {
		shown.RequestID = c.RequestID(w)
	}
	c.Report(w, r, err)
	return wire.SetHeaders(w, err)
}
