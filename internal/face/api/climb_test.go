package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/signin"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc"
)

// gain is something that a caller can get from a key while trying to exceed its permissions. Equal gains lead to the
// same, so the search continues from only one of them.
type gain struct {
	kind  string       // key, session, guest, invite, invite link, sign-in link, address link
	who   string       // whose it is: owner, member, other, or nobody's yet
	level access.Level // in the organization
	scope access.Scope
	bound bool
}

// thing is a gain with its secret or id, and the operation that led to it.
type thing struct {
	gain
	text  string
	email string // of an invite or a link
	from  *thing // nil: given at the start
	by    operation
}

// chain returns the number of operations that led to t.
func (t *thing) chain() int {
	if t.from == nil {
		return 0
	}
	return 1 + t.from.chain()
}

// String lists the operations that led to t.
func (t *thing) String() string {
	if t.from == nil {
		return "a key"
	}
	return t.from.String() + ", " + t.by.name
}

// climb searches, breadth first, for everything that a key leads to.
type climb struct {
	*rig
	handler http.Handler
	mails   *mailtest.Server
	read    int // number of mails read
	posts   map[string]job.Kind
	seen    map[gain]bool
	queue   []*thing
	tried   int
	asked   int            // requests
	plain   org.Membership // a member who takes no part
	boss    string         // the id of an invite for an owner
	kept    []int64        // the ids of an owner's key with all scopes, and of the plain member's key
	names   int            // counts addresses
}

// maxChain is the maximum number of operations in a chain.
const maxChain = 4

func newClimb(r *rig) *climb {
	r.t.Helper()
	c := &climb{rig: r, mails: mailtest.Start(r.t, mailtest.Config{}), seen: map[gain]bool{}}
	a := *r.api
	a.Invites.Mails = true
	a.Organizations = r.orgs
	box := seal.Box{Secret: "a secret"}
	a.SignIn = signin.Service{DB: r.db, Keys: r.keys, Jobs: a.Invites.Jobs, Organizations: r.orgs, Invites: a.Invites, BaseURL: baseURL, Mails: true, Box: box}
	a.Addresses = addresschange.Service{DB: r.db, Keys: r.keys, Jobs: a.Invites.Jobs, Organizations: r.orgs, SignIn: a.SignIn, BaseURL: baseURL, Mails: true, Box: box}
	settings, err := mail.Parse(c.mails.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	smtp, from := mail.SMTP{Settings: settings}, "foyer@foyer.example"
	c.posts = map[string]job.Kind{
		invite.MailJob:        invite.Post{Service: a.Invites, SMTP: smtp, From: from, Seen: func(invite.MailState) {}}.Kind(),
		signin.MailJob:        signin.Post{Service: a.SignIn, SMTP: smtp, From: from}.Kind(),
		addresschange.MailJob: addresschange.Post{Service: a.Addresses, SMTP: smtp, From: from}.Kind(),
	}
	r.api = &a
	c.handler = a.Handler(func(*wire.Mux) {})
	c.plain = r.join(r.org, "plain@acme.example", access.Member)
	c.boss = between(r.wantStatus(r.key, "POST", invites, `{"target_email":"boss@acme.example","level":15}`, 201).body, `"id":"`, `"`)
	for _, d := range []access.Draft{{UserID: r.owner.User.ID, Scope: access.All}, {UserID: c.plain.User.ID, OrganizationID: r.org.ID, Scope: access.PluginRead}} {
		key, _, err := r.keys.Create(r.t.Context(), d)
		if err != nil {
			r.t.Fatal(err)
		}
		c.kept = append(c.kept, key.ID)
	}
	return c
}

// search tries every operation on everything gained, in chains of up to maxChain.
func (c *climb) search(key string) {
	c.queue = c.known([]thing{{gain: gain{kind: "key"}, text: key}})
	c.seen[c.queue[0].gain] = true
	for len(c.queue) > 0 {
		from := c.queue[0]
		c.queue = c.queue[1:]
		if from.chain() == maxChain {
			continue
		}
		for _, o := range operations {
			if !o.on(from.kind) {
				continue
			}
			for _, t := range c.try(o, c.renew(from)) {
				if !c.seen[t.gain] {
					c.seen[t.gain] = true
					c.queue = append(c.queue, t)
				}
			}
		}
	}
}

// try runs an operation and returns the things it led to.
func (c *climb) try(o operation, from *thing) []*thing {
	c.tried++
	got := c.known(append(o.do(c, *from), c.mailbox()...))
	for _, t := range got {
		t.from, t.by = from, o
	}
	return got
}

// renew repeats the operation that led to a thing if the thing is used up, has ended or has lost permissions, so that
// the next operation starts from a valid one.
func (c *climb) renew(t *thing) *thing {
	if t.from == nil {
		return t
	}
	if t.kind == "key" || t.kind == "session" {
		if now := c.known([]thing{*t}); len(now) == 1 && now[0].gain == t.gain {
			return t
		}
	}
	for _, again := range c.try(t.by, c.renew(t.from)) {
		if again.gain == t.gain {
			return again
		}
	}
	return t
}

// known returns the valid ones of some things, with their details filled in.
func (c *climb) known(all []thing) (known []*thing) {
	c.t.Helper()
	for _, t := range all {
		if t.text == "" {
			continue
		}
		if t.kind == "key" || t.kind == "session" {
			id, err := c.identify(t)
			if err != nil {
				continue // it was revoked meanwhile
			}
			t.who, t.level, t.scope, t.bound = c.name(id.UserID), 0, id.Scope, id.Caller().BoundTo != ""
			if in, err := c.keys.Enter(c.t.Context(), id, c.org.ID); err == nil {
				t.level = in.Level
			}
		}
		known = append(known, &t)
	}
	return known
}

func (c *climb) identify(t thing) (*access.Identity, error) {
	if t.kind == "session" {
		return c.keys.IdentifySession(c.t.Context(), t.text)
	}
	return c.keys.Identify(c.t.Context(), t.text)
}

func (c *climb) name(userID int64) string {
	switch userID {
	case c.owner.User.ID:
		return "owner"
	case c.plain.User.ID:
		return "member"
	}
	return "other"
}

// ask sends a request with a key or in a session, or without either.
func (c *climb) ask(with thing, method, path, body string) string {
	c.t.Helper()
	if !strings.HasPrefix(path, "/api/") {
		path = "/api/organizations/" + c.org.ID + path
	}
	ctx := c.t.Context()
	if with.kind == "session" {
		ctx = access.WithSession(ctx, with.text)
	}
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if with.kind == "key" {
		r.Header.Set("Authorization", "Bearer "+with.text)
	}
	r.Header.Set("Content-Type", "application/json")
	c.asked++
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", c.asked>>16, c.asked>>8&0xff, c.asked&0xff) // so that no limit ends the search
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError {
		c.t.Fatalf("%s %s %s after %v: %d %s", method, path, body, &with, w.Code, w.Body)
	}
	return w.Body.String()
}

// address returns a new address whose mail the climber reads.
func (c *climb) address() string {
	c.names++
	return fmt.Sprintf("climber%d@x.example", c.names)
}

var linkInMail = regexp.MustCompile(`https://[^/]+/(invite|signin|address)/([\w-]+)`)

// mailbox sends the waiting mails, and returns the links in those that the climber reads.
func (c *climb) mailbox() (links []thing) {
	c.t.Helper()
	type waiting struct{ kind, item string }
	jobs, err := db.All(c.t.Context(), c.db, func(w *waiting) []any { return []any{&w.kind, &w.item} }, `SELECT kind, item FROM jobs ORDER BY id`)
	if err != nil || len(jobs) == 0 {
		return nil
	}
	for _, j := range jobs {
		if err := c.posts[j.kind].Do(c.t.Context(), job.Job{Item: j.item}); err != nil && c.t.Context().Err() != nil {
			c.t.Fatal(err)
		}
	}
	for _, table := range []string{"jobs", "quotas"} { // no quota ends the search
		dbtest.Exec(c.t, c.db, `DELETE FROM `+table)
	}
	all := c.mails.Mails()
	for _, m := range all[c.read:] {
		link := linkInMail.FindStringSubmatch(m.Text(c.t))
		if link == nil || !strings.HasSuffix(m.To[0], "@x.example") {
			continue
		}
		kind := map[string]string{"invite": "invite link", "signin": "sign-in link", "address": "address link"}[link[1]]
		links = append(links, thing{gain: gain{kind: kind, who: c.whose(m.To[0])}, text: link[2], email: m.To[0]})
	}
	c.read = len(all)
	return links
}

// whose returns whose address a link was mailed to: an address of the climber's may have become the owner's.
func (c *climb) whose(email string) string {
	u, err := c.orgs.UserByEmail(c.t.Context(), email)
	if err != nil {
		return "nobody"
	}
	return c.name(u.ID)
}

// operation is an operation that makes keys, invites, links, members, sessions or addresses.
type operation struct {
	name string
	of   string // the kinds of things that it takes
	do   func(c *climb, from thing) []thing
}

func (o operation) on(kind string) bool { return strings.Contains(o.of, "|"+kind+"|") }

const credential = "|key|session|"

// operations lists all operations, each with the arguments that a climber would choose.
var operations = slices.Concat(
	askedFor("make a key", []string{"*", "plugin:write", "plugin:read", "organization_member:write", "organization_member:read"}, func(c *climb, from thing, scope string) []thing {
		free := c.ask(from, "POST", "/api/users/@me/keys", `{"scopes":["`+scope+`"]}`)
		bound := c.ask(from, "POST", "/api/users/@me/keys", `{"scopes":["`+scope+`"],"organization_id":"`+c.org.ID+`"}`)
		return []thing{{gain: gain{kind: "key"}, text: between(free, `"key":"`, `"`)}, {gain: gain{kind: "key"}, text: between(bound, `"key":"`, `"`)}}
	}),
	askedFor("invite", []string{"15", "8", "1"}, func(c *climb, from thing, level string) []thing {
		email := c.address()
		made := c.ask(from, "POST", invites, `{"target_email":"`+email+`","level":`+level+`}`)
		l, _ := access.ParseLevel("level", level)
		return []thing{{gain: gain{kind: "invite", level: l}, text: between(made, `"id":"`, `"`), email: email}}
	}),
	askedFor("invite several", []string{"15", "8", "1"}, func(c *climb, from thing, level string) []thing {
		email := c.address()
		made := c.ask(from, "POST", invites+"bulk", `[{"target_email":"`+email+`","level":`+level+`}]`)
		l, _ := access.ParseLevel("level", level)
		return []thing{{gain: gain{kind: "invite", level: l}, text: between(made, `"id":"`, `"`), email: email}}
	}),
	askedFor("raise", []string{"15", "8"}, func(c *climb, from thing, level string) []thing {
		c.ask(from, "PATCH", "/members/"+c.plain.User.UUID, `{"level":`+level+`}`)
		for _, uuid := range regexp.MustCompile(`"uuid":"([^"]+)"`).FindAllStringSubmatch(c.ask(from, "GET", "/members?search=x.example&limit=1000", ""), -1) {
			c.ask(from, "PATCH", "/members/"+uuid[1], `{"level":`+level+`}`)
		}
		return nil
	}),
	[]operation{
		{"take over an invite", credential, func(c *climb, from thing) []thing {
			c.ask(from, "POST", invites+c.boss+"/resend", "")
			return []thing{c.link(from, c.boss, "boss@acme.example")}
		}},
		{"read links", credential, func(c *climb, from thing) (links []thing) {
			for _, i := range regexp.MustCompile(`"id":"([^"]+)","target_email":"([^"]+)"`).FindAllStringSubmatch(c.ask(from, "GET", "/invites?limit=1000", ""), -1) {
				links = append(links, c.link(from, i[1], i[2]))
			}
			return links
		}},
		{"sign in by key", "|key|", func(c *climb, from thing) []thing {
			session, err := c.api.SignIn.ByKey(c.t.Context(), from.text, access.SessionDraft{})
			return c.session(session, "", "", err)
		}},
		{"change the address", credential, func(c *climb, from thing) []thing {
			c.ask(from, "PATCH", "/api/users/@me", `{"email":"`+c.address()+`","first_name":"Climber"}`)
			return nil // the mailbox has the link
		}},
		{"change settings", credential, func(c *climb, from thing) []thing {
			c.ask(from, "PATCH", "/api/organizations/"+c.org.ID, `{"name":"Climbed","members_can_manage_apps":true}`)
			return nil
		}},
		{"revoke keys", credential, func(c *climb, from thing) []thing {
			for _, id := range c.kept {
				c.ask(from, "DELETE", fmt.Sprintf("/api/users/@me/keys/%d", id), "")
				c.ask(from, "DELETE", fmt.Sprintf("/keys/%d", id), "")
			}
			return nil
		}},
		{"answer one's invites", credential, func(c *climb, from thing) []thing {
			for _, i := range regexp.MustCompile(`"id":"([^"]+)"`).FindAllStringSubmatch(c.ask(from, "GET", "/api/users/@me/invites", ""), -1) {
				c.ask(from, "POST", "/api/users/@me/invites/"+i[1]+"/accept", `{}`)
			}
			return []thing{{gain: gain{kind: from.kind}, text: from.text}}
		}},
		{"accept", "|invite link|", func(c *climb, from thing) []thing {
			made := c.ask(thing{}, "POST", "/api/signup/"+from.text, `{}`)
			return []thing{{gain: gain{kind: "key"}, text: between(made, `"api_key":"`, `"`)}}
		}},
		{"accept in a browser", "|invite link|", func(c *climb, from thing) []thing {
			a, err := c.api.Invites.AcceptInBrowser(c.t.Context(), from.text, invite.Names{}, access.SessionDraft{}, invite.SignInMethods{Mail: true, Key: true})
			return append(c.session(a.Session, "", "", err), thing{gain: gain{kind: "key"}, text: a.APIKey})
		}},
		{"ask for a link to sign in", "|invite|invite link|", func(c *climb, from thing) []thing {
			for _, email := range []string{from.email, "owner@acme.example"} {
				c.ask(thing{}, "POST", "/api/signin", `{"email":"`+email+`"}`)
			}
			return nil
		}},
		{"sign in by a link", "|sign-in link|", func(c *climb, from thing) []thing {
			in, err := c.api.SignIn.Use(c.t.Context(), from.text, access.SessionDraft{})
			return c.session(in.Session, in.Guest, from.email, err)
		}},
		{"sign in by the provider", "|invite|invite link|address link|", func(c *climb, from thing) []thing {
			in, err := c.api.SignIn.ByProvider(c.t.Context(), oidc.Claims{
				Issuer: "https://login.example", Subject: from.email, Email: from.email, EmailVerified: strings.HasSuffix(from.email, "@x.example"),
			}, access.SessionDraft{})
			return c.session(in.Session, in.Guest, from.email, err)
		}},
		{"accept as a guest", "|guest|", func(c *climb, from thing) (all []thing) {
			_, open, _ := c.api.SignIn.GuestInvites(c.t.Context(), from.text) // an expired one has none
			for _, o := range open {
				session, err := c.api.SignIn.AcceptAsGuest(c.t.Context(), from.text, o.ID, invite.Names{FirstName: patch.Of("Guest")}, access.SessionDraft{})
				all = append(all, c.session(session, "", "", err)...)
			}
			return all
		}},
		{"confirm an address", "|address link|", func(c *climb, from thing) []thing {
			if _, err := c.api.Addresses.Use(c.t.Context(), from.text, access.Caller{}); err != nil {
				return nil
			}
			c.ask(thing{}, "POST", "/api/signin", `{"email":"`+from.email+`"}`)
			return nil
		}},
		{"remove members", credential, func(c *climb, from thing) []thing { // members that the climber brought in may be invited again
			for _, uuid := range regexp.MustCompile(`"uuid":"([^"]+)"`).FindAllStringSubmatch(c.ask(from, "GET", "/members?search=x.example&limit=1000", ""), -1) {
				c.ask(from, "DELETE", "/members/"+uuid[1], "")
			}
			return nil
		}},
	},
)

// askedFor returns one operation on a credential for each of several arguments.
func askedFor(name string, all []string, do func(c *climb, from thing, what string) []thing) (each []operation) {
	for _, what := range all {
		each = append(each, operation{name + " " + what, credential, func(c *climb, from thing) []thing { return do(c, from, what) }})
	}
	return each
}

// link reads the link of an invite, to be passed on by hand.
func (c *climb) link(from thing, id, email string) thing {
	link := c.ask(from, "POST", invites+id+"/link", "")
	return thing{gain: gain{kind: "invite link", who: c.whose(email)}, text: between(link, "/invite/", `"`), email: email}
}

// session returns the things that a sign-in has led to.
func (c *climb) session(session, guest, email string, err error) []thing {
	if err != nil {
		return nil
	}
	return []thing{{gain: gain{kind: "session"}, text: session}, {gain: gain{kind: "guest"}, text: guest, email: email}}
}
