package addresschange_test

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/signin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc"
)

// rig is the service on an empty database, with a clock of its own and a mail server.
type rig struct {
	addresschange.Service
	t     *testing.T
	now   time.Time
	org   org.Organization
	mails *mailtest.Server
}

func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := &rig{t: t, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), mails: mailtest.Start(t, mailtest.Config{})}
		d.Now = func() time.Time { return r.now }
		keys, jobs := access.NewKeys(d), job.New(d)
		orgs := org.Service{DB: d, Keys: keys}
		invites := invite.Service{DB: d, Keys: keys, Jobs: jobs, TTL: 24 * time.Hour, Cache: invite.NewCache()}
		box := seal.Box{Secret: "a secret"}
		in := signin.Service{DB: d, Keys: keys, Jobs: jobs, Organizations: orgs, Invites: invites, BaseURL: "https://foyer.example", Mails: true, Box: box}
		r.Service = addresschange.Service{DB: d, Keys: keys, Jobs: jobs, Organizations: orgs, SignIn: in, BaseURL: "https://foyer.example", Mails: true, Box: box}
		r.org = must(orgs.Create(t.Context(), "Acme"))(t)
		test(t, r)
	})
}

// check ends the test with an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns what a call has returned, or ends the test with its error: must(call())(t).
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// join makes a member, and returns them as a caller with a key.
func (r *rig) join(in org.Organization, email string) access.Caller {
	r.t.Helper()
	var m org.Membership
	err := r.Keys.Change(r.t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		m, err = r.Organizations.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: in.ID, User: org.User{Email: email}, Level: access.Member})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.withKey(m.User.ID)
}

// withKey makes a key of a user, and returns them as a caller with it.
func (r *rig) withKey(userID int64) access.Caller {
	r.t.Helper()
	key, _, err := r.Keys.Create(r.t.Context(), access.Draft{UserID: userID, Scope: access.All})
	if err != nil {
		r.t.Fatal(err)
	}
	return access.Caller{UserID: userID, KeyID: key.ID, Scope: access.All}
}

// ask asks for another address.
func (r *rig) ask(c access.Caller, email string) error {
	_, err := r.ChangeSelf(r.t.Context(), c, org.SelfPatch{Email: patch.Of(email)})
	return err
}

var inMail = regexp.MustCompile(`https://foyer\.example/address/([\w-]+)`)

// deliver sends the mails that wait, and returns the links in the new ones, by address; "": no link.
func (r *rig) deliver() map[string]string {
	r.t.Helper()
	sent := len(r.mails.Mails())
	items := must(db.All[string](r.t.Context(), r.DB, nil, `SELECT item FROM jobs WHERE kind = $1`, addresschange.MailJob))(r.t)
	post := addresschange.Post{Service: r.Service, SMTP: mail.SMTP{Settings: must(mail.Parse(r.mails.URL()))(r.t)}, From: "foyer@foyer.example"}
	for _, item := range items {
		check(r.t, post.Kind().Do(r.t.Context(), job.Job{Item: item}))
	}
	dbtest.Exec(r.t, r.DB, `DELETE FROM jobs`)
	links := map[string]string{}
	for _, m := range r.mails.Mails()[sent:] {
		link := ""
		if found := inMail.FindStringSubmatch(m.Text(r.t)); found != nil {
			link = found[1]
		}
		links[m.To[0]] = link
	}
	return links
}

func (r *rig) use(token string) error {
	_, err := r.Use(r.t.Context(), token, access.Caller{})
	return err
}

func (r *rig) wantEmail(c access.Caller, want string) {
	r.t.Helper()
	if u, err := r.Organizations.Self(r.t.Context(), c); err != nil || u.Email != want {
		r.t.Errorf("%s, %v, want %s", u.Email, err, want)
	}
}

func (r *rig) want(kind fault.Kind, err error) {
	r.t.Helper()
	if !fault.Is(err, kind) {
		r.t.Errorf("%v", err)
	}
}

// wantRecorded checks that an entry by somebody shows a change.
func (r *rig) wantRecorded(by access.Caller, scope activity.Scope, change string) {
	r.t.Helper()
	all := must(activity.List(r.t.Context(), r.DB, activity.Filter{OrganizationID: r.org.ID}, page.First))(r.t)
	if !slices.ContainsFunc(all.Items, func(e activity.Stored) bool {
		return e.Scope == scope && e.Verb == activity.Updated && e.User.ID == by.UserID && strings.Contains(e.Changes, change)
	}) {
		r.t.Errorf("not recorded: %+v", all.Items)
	}
}

func (r *rig) begin(c access.Caller) (session string, id int64) {
	r.t.Helper()
	session = must(r.Keys.BeginSession(r.t.Context(), access.SessionDraft{UserID: c.UserID, Method: access.ByMail}))(r.t)
	return session, must(r.Keys.IdentifySession(r.t.Context(), session))(r.t).Caller().SessionID
}

func TestAddressIsChangedByItsLink(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		asking, id := r.begin(ada)
		other, _ := r.begin(ada)
		ada.SessionID = id
		check(t, r.ask(ada, " Ada@New.example"))
		links := r.deliver()
		r.wantEmail(ada, "ada@x.example")
		c, err := r.Open(t.Context(), links["ada@new.example"])
		if err != nil || c.Undo || c.OldEmail != "ada@x.example" || c.NewEmail != "ada@new.example" {
			t.Errorf("%+v, %v", c, err)
		}
		check(t, r.use(links["ada@new.example"]))
		r.wantEmail(ada, "ada@new.example")
		if u := must(r.Organizations.Self(t.Context(), ada))(t); !u.IsEmailVerified {
			t.Error("the address is not verified")
		}
		_, stays := r.Keys.IdentifySession(t.Context(), asking)
		if _, ended := r.Keys.IdentifySession(t.Context(), other); stays != nil || ended == nil {
			t.Errorf("%v, %v", stays, ended)
		}
		r.want(fault.NotFound, r.use(links["ada@new.example"]))
		for _, wrong := range []string{"", "x", links["ada@new.example"] + "A", links["ada@x.example"][:40]} {
			r.want(fault.NotFound, r.use(wrong))
		}
		r.wantRecorded(ada, activity.Membership, "ada@new.example")
	})
}

// Each of the two mails has its own text, and an id that stays the same when it is sent again.
func TestMailsAboutAChange(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.ask(r.join(r.org, "ada@x.example"), "ada@new.example"))
		id := must(db.One[string](t.Context(), r.DB, nil, `SELECT id FROM address_changes`))(t)
		r.deliver()
		for _, m := range r.mails.Mails() {
			isOld := m.To[0] == "ada@x.example"
			kind := map[bool]string{true: "old.", false: "new."}[isOld]
			if got := m.Header(t, "Message-ID"); !strings.HasPrefix(got, "<"+kind+id+"@") || strings.Contains(m.Text(t), "If it was not you, open this link") != isOld {
				t.Errorf("to %s: %s\n%s", m.To, got, m.Text(t))
			}
		}
	})
}

// An address of another user, or one that an organization does not allow, is refused. If the caller cannot see the
// other user, only the mail to the address says so.
func TestAddressOfSomebody(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		r.join(r.org, "bea@x.example")
		r.join(must(r.Organizations.Create(t.Context(), "Other"))(t), "eve@x.example")
		r.want(fault.NotUnique, r.ask(ada, "bea@x.example"))
		for _, wrong := range []string{"ada", "owner@"} {
			r.want(fault.Invalid, r.ask(ada, wrong))
		}
		r.want(fault.Blank, r.ask(ada, ""))
		if err := r.ask(ada, "ADA@x.example"); err != nil { // it is theirs already
			t.Error(err)
		}
		if links := r.deliver(); len(links) != 0 {
			t.Errorf("%v", links)
		}
		check(t, r.ask(ada, "eve@x.example"))
		links := r.deliver()
		if link, mailed := links["eve@x.example"]; !mailed || link != "" || links["ada@x.example"] == "" {
			t.Errorf("%v", links)
		}
		check(t, r.ask(ada, "ada@new.example"))
		asked := r.deliver()["ada@new.example"]
		bound := ada
		bound.BoundTo = r.org.ID
		r.want(fault.Denied, r.ask(bound, "ada@new.example"))
		domains := make([]string, 1000)
		for i := range domains {
			domains[i] = "d" + strconv.Itoa(i) + ".x.example"
		}
		must(r.Organizations.Set(t.Context(), access.Caller{}, r.org.ID, org.Settings{AllowedDomains: &domains}))(t)
		for _, err := range []error{r.ask(ada, "ada@new.example"), r.use(asked)} {
			if !fault.Is(err, fault.Invalid) || !strings.HasSuffix(err.Error(), "x.example and others.") {
				t.Error(err)
			}
		}
		r.Mails = false
		r.want(fault.Denied, r.ask(ada, "ada@y.x.example"))
	})
}

// Nobody gets an address by a link that has lost a race, was replaced or has expired.
func TestAddressIsNotTakenOver(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		bea := r.join(must(r.Organizations.Create(t.Context(), "Other"))(t), "bea@x.example")
		link := func(c access.Caller, email string) string {
			t.Helper()
			check(t, r.ask(c, email))
			return r.deliver()[email]
		}
		replaced := link(ada, "typo@x.example")
		adas, beas := link(ada, "new@x.example"), link(bea, "new@x.example")
		r.want(fault.NotFound, r.use(replaced))
		results := make(chan error)
		for _, token := range []string{adas, beas, adas, beas} {
			go func() { results <- r.use(token) }()
		}
		changed := 0
		for range 4 {
			if err := <-results; err == nil {
				changed++
			} else if !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.NotUnique) {
				t.Error(err)
			}
		}
		if changed != 1 {
			t.Errorf("%d have the address", changed)
		}
		late := link(bea, "late@x.example")
		r.now = r.now.Add(24 * time.Hour)
		r.want(fault.Expired, r.use(late))
		overtaken := link(bea, "own@x.example")
		if _, err := r.Organizations.SetUser(t.Context(), "bea@x.example", org.SelfPatch{Email: patch.Of("set@x.example")}); err == nil {
			r.want(fault.NotFound, r.use(overtaken)) // an operator was faster
			r.wantEmail(bea, "set@x.example")
		} else if !fault.Is(err, fault.NotFound) { // bea has won the race
			t.Error(err)
		}
	})
}

// For 7 days the link to the old address undoes a change and all later ones; nobody else gets that address meanwhile.
func TestAddressIsGivenBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		change := func(email string) (undo string) {
			t.Helper()
			from := must(r.Organizations.Self(t.Context(), ada))(t).Email
			check(t, r.ask(ada, email))
			links := r.deliver()
			check(t, r.use(links[email]))
			return links[from]
		}
		undo := change("thief@x.example")
		r.now = r.now.Add(24 * time.Hour)
		second := change("thief@y.example")
		in := must(r.SignIn.ByProvider(t.Context(), oidc.Claims{
			Issuer: "https://login.example", Subject: "thief", Email: "thief@y.example", EmailVerified: true,
		}, access.SessionDraft{}))(t)
		_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: ada.UserID, Scope: access.All})
		if err != nil {
			t.Fatal(err)
		}
		other := must(r.Organizations.Create(t.Context(), "Other"))(t)
		err = r.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := r.Organizations.Join(ctx, tx, access.Caller{}, org.Joining{OrganizationID: other.ID, User: org.User{Email: "ada@x.example"}, Level: access.Member})
			return err
		})
		r.want(fault.NotUnique, err)
		r.join(other, "somebody@x.example") // other addresses are free
		must(r.Organizations.SetUser(t.Context(), "somebody@x.example", org.SelfPatch{Email: patch.Of("else@x.example")}))(t)

		r.now = r.now.Add(6*24*time.Hour - time.Second)
		if c, err := r.Open(t.Context(), undo); err != nil || !c.Undo || !c.Done || c.OldEmail != "ada@x.example" {
			t.Errorf("%+v, %v", c, err)
		}
		check(t, r.use(undo))
		r.wantEmail(ada, "ada@x.example")
		if u := must(r.Organizations.Self(t.Context(), ada))(t); !u.IsEmailVerified {
			t.Error("the address is not verified")
		}
		_, keyEnded := r.Keys.Identify(t.Context(), key)
		if _, sessionEnded := r.Keys.IdentifySession(t.Context(), in.Session); keyEnded == nil || sessionEnded == nil {
			t.Error("the thief is still signed in")
		}
		for _, used := range []string{undo, second} {
			r.want(fault.NotFound, r.use(used))
		}
		r.wantRecorded(ada, activity.Session, `"field":"identity_provider","before":"https://login.example","after":null`)
		_, err = r.SignIn.ByProvider(t.Context(), oidc.Claims{Issuer: "https://login.example", Subject: "thief"}, access.SessionDraft{})
		r.want(fault.Denied, err)

		ada = r.withKey(ada.UserID)
		late := change("ada@new.example")
		r.now = r.now.Add(7 * 24 * time.Hour)
		r.want(fault.Expired, r.use(late))
		r.join(other, "ada@x.example") // it is free again
		r.now = r.now.Add(14 * 24 * time.Hour)
		check(t, r.Tidy(t.Context()))
		r.want(fault.NotFound, r.use(late))
	})
}

// A change can be undone even after the address was changed back: no entry is recorded for a change of nothing.
func TestUndoAfterChangingBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		var links [2]map[string]string
		for i, email := range []string{"thief@x.example", "ada@x.example"} {
			check(t, r.ask(ada, email))
			links[i] = r.deliver()
			check(t, r.use(links[i][email]))
		}
		check(t, r.use(links[0]["ada@x.example"]))
		r.wantEmail(ada, "ada@x.example")
		f := activity.Filter{OrganizationID: r.org.ID, Scopes: []activity.Scope{activity.Membership}, Verb: activity.Updated}
		if got := must(activity.List(t.Context(), r.DB, f, page.First))(t); got.Count != 2 {
			t.Errorf("%+v", got.Items)
		}
	})
}

// A user can undo a change of address even if an earlier holder of the old address is erased.
func TestAddressIsGivenBackAfterErasing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, r.EraseUser)
		const email = "desk@x.example"
		r.join(r.org, email)
		must(orgs.SetUser(t.Context(), email, org.SelfPatch{Email: patch.Of("first@x.example")}))(t)
		second := r.join(r.org, email)
		check(t, r.ask(second, "second@x.example"))
		links := r.deliver()
		check(t, r.use(links["second@x.example"]))
		must(orgs.EraseUser(t.Context(), "first@x.example"))(t)
		made := activity.Filter{OrganizationID: r.org.ID, Scopes: []activity.Scope{activity.Key}, ItemID: strconv.FormatInt(second.KeyID, 10)}
		entries := must(activity.List(t.Context(), r.DB, made, page.First))(t).Items
		if len(entries) != 1 || entries[0].Name != email || entries[0].Erased {
			t.Errorf("%+v", entries)
		}
		if err := r.use(links[email]); err != nil {
			t.Error(err)
		}
		r.wantEmail(second, email)
	})
}

// A user can ask for at most five changes an hour.
func TestChangesOfAddressAreLimited(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada, bea := r.join(r.org, "ada@x.example"), r.join(r.org, "bea@x.example")
		for range 5 {
			check(t, r.ask(ada, "new@x.example"))
		}
		r.want(fault.QuotaExceeded, r.ask(ada, "other@x.example"))
		r.want(fault.QuotaExceeded, r.ask(ada, "bea@x.example"))
		if err := r.ask(bea, "new@x.example"); err != nil {
			t.Error(err)
		}
		r.now = r.now.Add(time.Hour)
		if err := r.ask(ada, "other@x.example"); err != nil {
			t.Error(err)
		}
	})
}

// Mails count against the limit of the address that they go to, whoever asks for them.
func TestMailsAboutChangesAreLimited(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.MailLimit = 2
		for _, asking := range []string{"ada@x.example", "bea@x.example"} {
			check(t, r.ask(r.join(r.org, asking), "stranger@x.example"))
		}
		r.now = r.now.Add(time.Hour)
		cleo := r.join(r.org, "cleo@x.example")
		err := r.ask(cleo, "stranger@x.example")
		if r.want(fault.QuotaExceeded, err); err != nil && fault.Of(err)[0].RetryAfter != 23*time.Hour {
			t.Errorf("after %s", fault.Of(err)[0].RetryAfter)
		}
		if err := r.ask(cleo, "other@x.example"); err != nil {
			t.Error(err)
		}
		r.now = r.now.Add(23 * time.Hour)
		if err := r.ask(cleo, "stranger@x.example"); err != nil {
			t.Error(err)
		}
	})
}
