package server_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/server"
)

// texts returns all texts in a database, by table.
func texts(t *testing.T, d *db.DB) map[string][]string {
	t.Helper()
	isSQLite := dbtest.IsSQLite(t, d)
	names := `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`
	if isSQLite {
		names = `SELECT name FROM sqlite_schema WHERE type = 'table'`
	}
	all := map[string][]string{}
	for _, table := range must(db.All[string](t.Context(), d, nil, names))(t) {
		row := `CAST(whole.* AS TEXT)` // not the table's name, because activity has a column of this name
		if isSQLite {
			columns := must(db.All[string](t.Context(), d, nil, `SELECT name FROM pragma_table_info('`+table+`')`))(t)
			row = `CAST(COALESCE("` + strings.Join(columns, `", '') || ' ' || COALESCE("`) + `", '') AS TEXT)`
		}
		all[table] = must(db.All[string](t.Context(), d, nil, `SELECT `+row+` FROM `+table+` whole`))(t)
	}
	return all
}

// rowsWith counts the rows that contain a text, by table.
func rowsWith(t *testing.T, d *db.DB, text string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for table, rows := range texts(t, d) {
		for _, row := range rows {
			if strings.Contains(row, text) {
				counts[table]++
			}
		}
	}
	return counts
}

// wantKept checks that no table has fewer rows with a text than before, except for those that the background empties.
func wantKept(t *testing.T, d *db.DB, text string, before map[string]int) {
	t.Helper()
	after := rowsWith(t, d, text)
	for table, n := range before {
		if after[table] < n && table != "signin_requests" && table != "activity_unnumbered" {
			t.Errorf("%s has %d rows with %s, and had %d", table, after[table], text, n)
		}
	}
}

// holding returns the tables that contain a text.
func holding(t *testing.T, d *db.DB, text string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(rowsWith(t, d, text)))
}

// wantGone checks that no table contains a text.
func wantGone(t *testing.T, d *db.DB, text string) {
	t.Helper()
	if tables := holding(t, d, text); tables != nil {
		t.Errorf("%q have %s", tables, text)
	}
}

// wantFilled checks that each table with one of some columns, with a few exceptions, contains a text: otherwise the
// test would not notice a new table that is not erased.
func wantFilled(t *testing.T, d *db.DB, text string, but []string, columns ...string) {
	t.Helper()
	in := `('` + strings.Join(columns, `', '`) + `')`
	having := `SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name IN `
	if dbtest.IsSQLite(t, d) {
		having = `SELECT DISTINCT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name IN `
	}
	filled := holding(t, d, text)
	for _, table := range must(db.All[string](t.Context(), d, nil, having+in))(t) {
		if !slices.Contains(filled, table) && !slices.Contains(but, table) {
			t.Errorf("%s has nothing to be erased: have this test fill it", table)
		}
	}
}

// furnishPerson makes a member who leaves their names and address wherever they can be, and returns them as they joined.
func furnishPerson(t *testing.T, s *running, d *server.Domain, elsewhere *running, mails *mailtest.Server, email, first, last string) client.Accepted {
	t.Helper()
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email, FirstName: first}))(t)
	anybody := must(client.New(s.URL, ""))(t)
	token := path.Base(mailedLink(t, mails, email, "/invite/"))
	accepted := must(anybody.AcceptInvitation(t.Context(), token, client.Names{LastName: &last}))(t)
	check(t, anybody.RequestSignIn(t.Context(), email))
	visit(t, s, accepted.APIKey).get("/console")
	theirs := s.as(t, accepted.APIKey)
	number := strconv.FormatInt(accepted.User.ID, 10)
	must(theirs.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "bob" + number + "@x.example"}))(t)
	must(elsewhere.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email}))(t)

	again := must(http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/organizations/@current/invites/bulk", strings.NewReader(`[{"target_email":"carl`+number+`@x.example"}]`)))(t)
	again.Header = http.Header{"Authorization": {"Bearer " + accepted.APIKey}, "Content-Type": {"application/json"}, "Idempotency-Key": {"once"}}
	if got := do(t, again); got.status != 200 || !strings.Contains(got.body, email) { // it shows the maker of the invite
		t.Errorf("%d: %s", got.status, got.body)
	}

	user := must(d.Organizations.UserByEmail(t.Context(), email))(t)
	key, _, err := d.Keys.Create(t.Context(), access.Draft{UserID: user.ID, Scope: access.All})
	if err != nil {
		t.Fatal(err)
	}
	wanted := org.SelfPatch{Email: patch.Of("new." + email), LastName: patch.Of(last + " Byron")}
	must(d.Addresses.ChangeSelf(t.Context(), access.Caller{UserID: user.ID, KeyID: key.ID, Scope: access.All}, wanted))(t)
	mailedLink(t, mails, email, "/signin/") // the request for it is removed by then, or will be soon
	return accepted
}

// mailedLink waits for a mail to an address with a link whose path begins with a prefix, and returns the path.
func mailedLink(t *testing.T, mails *mailtest.Server, email, prefix string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := 1; ; n++ {
		m := must(mails.Wait(ctx, n))(t)[n-1]
		if link := regexp.MustCompile(prefix + `[\w-]+`).FindString(m.Text(t)); link != "" && m.To[0] == email {
			return link
		}
	}
}

// After a user is erased, neither what is stored nor what is written from then on contains their name or address. All
// that is stored about others stays.
func TestEraseUser(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		const email, first, last = "adastra@lovelacia.example", "Adastra", "Lovelacia"
		personal := regexp.MustCompile(`(?i)adastra|lovelacia`)
		mails := mailtest.Start(t, mailtest.Config{})
		cfg := config.Config{Database: url, SMTP: mails.URL(), MailFrom: "foyer@foyer.example", InviteLimit: 100, MailLimit: 100}
		s := start(t, cfg)
		d := openDomain(t, cfg)
		elsewhere := s.as(t, ownerElsewhere(t, cfg))
		const stays = "bystander@x.example"
		furnishPerson(t, s, d, elsewhere, mails, stays, "Bystander", "Who")
		accepted := furnishPerson(t, s, d, elsewhere, mails, email, first, last)
		theirs := must(client.New(s.URL, accepted.APIKey))(t).Organization(accepted.Organization.ID)

		raw := dbtest.Open(t, url)
		for _, of := range []string{email, stays} {
			wantFilled(t, raw, of, []string{"signin_requests"}, "email", "target_email", "old_email", "new_email", "first_name") // a request is removed once it is mailed
		}
		before, logged := rowsWith(t, raw, stays), len(s.log.String())
		must(d.Organizations.EraseUser(t.Context(), email))(t)
		if i, err := theirs.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "late@x.example"}); err == nil { // their key may still be cached
			t.Errorf("made after that: %+v", i)
		}
		wantKept(t, raw, stays, before)
		for table, rows := range texts(t, raw) {
			if at := personal.FindStringIndex(strings.Join(rows, "\n")); at != nil {
				t.Errorf("%s still has it: %.300q", table, strings.Join(rows, "\n")[max(0, at[0]-100):])
			}
		}
		if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
			backup := filepath.Join(t.TempDir(), "backup.db")
			check(t, server.Backup(t.Context(), cfg, backup))
			for _, file := range append(must(filepath.Glob(path+"*"))(t), backup) {
				if personal.Match(must(os.ReadFile(file))(t)) {
					t.Errorf("%s has it", filepath.Base(file))
				}
			}
		}
		if _, err := d.Organizations.UserByEmail(t.Context(), email); err == nil {
			t.Error("the user is still found")
		}
		if again := browse(t, "GET", s.URL+"/api/users/@me", map[string][]string{"Authorization": {"Bearer " + accepted.APIKey}}); again.status == 200 {
			awaitRefused(t, s, accepted.APIKey)
		}
		if shown := must(s.ListInvites(t.Context(), client.InviteFilter{}, client.Range{}))(t).Results; len(shown) != 4 || personal.MatchString(fmt.Sprint(shown)) {
			t.Errorf("%+v", shown)
		}
		if personal.MatchString(s.log.String()[logged:]) {
			t.Error("the log has it")
		}
		verifyAll(t, d)
		users := must(s.ListAudit(t.Context(), client.AuditFilter{ItemID: accepted.User.UUID}, client.Range{}))(t).Results
		if len(users) == 0 || !users[0].Erased {
			t.Errorf("the activity does not say that it was erased: %+v", users)
		}
	})
}

// If a user's former address belongs to another user now, data that shows the former one is still erased with them,
// since their names are only theirs.
func TestEraseUserWithoutTheirAddress(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		const name, email = "Quixotovic", "ada@new.example"
		w, ctx := withInvite(t, url)
		set := func(email string, p org.SelfPatch) {
			t.Helper()
			must(w.Organizations.SetUser(t.Context(), email, p))(t)
		}
		set(inviter, org.SelfPatch{LastName: patch.Of(name)})
		must(w.Invites.Resend(ctx, w.owner, w.made.ID))(t)
		set(inviter, org.SelfPatch{Email: patch.Of(email)})
		w.join(inviter, access.Member)
		if tables := holding(t, w.DB, name); !slices.Equal(tables, []string{"activity", "idempotency", "users"}) {
			t.Errorf("%q have the name before", tables)
		}
		must(w.Organizations.EraseUser(t.Context(), email))(t)
		wantGone(t, w.DB, name)
	})
}

// If erasing a person deletes an invite, the activity says so, without their address.
func TestEraseUserRecordsInvites(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w, _ := withInvite(t, url)
		elsewhere := must(w.Organizations.Create(t.Context(), "Umbrella"))(t)
		must(w.Invites.AddMember(t.Context(), elsewhere.ID, w.made.TargetEmail, access.Member))(t)
		must(w.Organizations.EraseUser(t.Context(), w.made.TargetEmail))(t)
		got := must(activity.List(t.Context(), w.DB, activity.Filter{
			OrganizationID: w.made.OrganizationID, ItemID: w.made.ID, Verb: activity.Deleted,
		}, page.First))(t).Items
		if len(got) != 1 || got[0].Name != "" || !got[0].Erased || got[0].User.ID != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// awaitRefused sends requests with a key until it is refused, which takes at most 2 seconds of the server's time.
func awaitRefused(t *testing.T, s *running, key string) {
	t.Helper()
	until(t, func() bool {
		return browse(t, "GET", s.URL+"/api/users/@me", http.Header{"Authorization": {"Bearer " + key}}).status == 401
	})
}

func verifyAll(t *testing.T, d *server.Domain) {
	t.Helper()
	for _, id := range must(activity.Chains(t.Context(), d.DB))(t) {
		if v := must(activity.Verify(t.Context(), d.DB, id, activity.Kept{}))(t); v.Wrong != "" {
			t.Errorf("%s: %s", id, v.Wrong)
		}
	}
}

func TestEraseUserRefusesTheLastOwner(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"}}
		s := start(t, cfg)
		d := openDomain(t, cfg)
		if _, err := d.Organizations.EraseUser(t.Context(), "ada@x.example"); err == nil || !strings.Contains(err.Error(), "last owner of organization") {
			t.Errorf("got %v", err)
		}
		must(s.Get(t.Context()))(t) // the key is still valid
	})
}

// hooked makes a webhook, and returns its id.
func hooked(t *testing.T, s *running) int64 {
	t.Helper()
	hook := client.WebhookPatch{URL: new("https://hooks.acme.example/foyer"), Events: []string{"webhook.test"}}
	return must(s.CreateWebhook(t.Context(), hook))(t).ID
}

// fillBackground fills the tables of an organization that otherwise only time and traffic fill.
func fillBackground(t *testing.T, d *db.DB, organizationID string) {
	t.Helper()
	for _, query := range []string{
		`INSERT INTO key_uses (key_id, organization_id, last_used_at) SELECT MIN(id), CAST($1 AS TEXT), CAST($2 AS TIMESTAMPTZ) FROM keys
				WHERE TRUE ON CONFLICT DO NOTHING`, // the server may have recorded that use itself
		`INSERT INTO signin_failures (user_id, organization_id, since, others) SELECT MIN(id), CAST($1 AS TEXT), CAST($2 AS TIMESTAMPTZ), 1 FROM users`,
		`INSERT INTO event_traces (organization_id, request_id, parent, created_at) VALUES ($1, 'r', 'p', $2)`,
		`INSERT INTO webhook_deliveries (webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at)
				SELECT id, organization_id, 1, 'e', 'app.created', 'delivered', 1, 200, '', 1, CAST($2 AS TIMESTAMPTZ), CAST($2 AS TIMESTAMPTZ) FROM webhooks WHERE organization_id = $1`,
		`INSERT INTO site_counts (app_id, site_id, organization_id, version, minute, bucket, views)
				SELECT 1, id, organization_id, 1, 1, 1, 1 FROM sites WHERE organization_id = $1 AND created_at <= $2`,
		`INSERT INTO site_errors (app_id, site_id, organization_id, digest, version, name, message, line_number, column_number, seen, first_at, last_at)
				SELECT 1, id, organization_id, 'd', 1, 'n', 'm', 1, 1, 1, CAST($2 AS TIMESTAMPTZ), CAST($2 AS TIMESTAMPTZ) FROM sites WHERE organization_id = $1`,
	} {
		dbtest.Exec(t, d, query, organizationID, d.Now())
	}
}

// A deleted organization leaves nothing but its activity. What is stored of other organizations stays.
func TestEraseOrganization(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url, InviteLimit: 100}
		s := start(t, cfg)
		furnish(t, s)
		shared := true
		apps := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Results
		must(s.UpdateApp(t.Context(), apps[0].ID, client.AppPatch{IsGlobal: &shared}))(t)
		id := must(s.Get(t.Context()))(t).ID
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		c := must(client.New(s.URL, s.key))(t)
		bound := must(c.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"*"}, OrganizationID: id}))(t)
		visit(t, s, bound.APIKey).get("/console")
		otherID, kept := joinElsewhere(t, cfg, "owner@elsewhere.example")
		elsewhere := s.as(t, kept)
		furnish(t, elsewhere)
		theirs := must(elsewhere.CreateSite(t.Context(), client.SitePatch{Name: new("Theirs")}))(t)
		const source = "export const onlyOurs = 1"
		global := s.withSite(t, source)
		must(s.UpdateApp(t.Context(), global.ID, client.AppPatch{IsGlobal: &shared}))(t)
		if placed := must(elsewhere.PlaceApp(t.Context(), theirs.ID, client.PlacementDraft{AppID: global.ID}))(t); placed.Running == nil {
			t.Errorf("elsewhere: %+v", placed)
		}

		d := openDomain(t, cfg)
		raw := dbtest.Open(t, url)
		for i, s := range []*running{s, elsewhere} {
			joinAs(t, s, "accepts"+strconv.Itoa(i)+"@x.example")
			must(s.With(client.IdempotencyKey("k")).UpdateWebhook(t.Context(), hooked(t, s), client.WebhookPatch{Description: new("changed")}))(t)
			fillBackground(t, raw, []string{id, otherID}[i])
		}
		check(t, activity.NumberAll(t.Context(), raw))
		for _, in := range []string{id, otherID} {
			wantFilled(t, raw, in, []string{"activity_unnumbered"}, "organization_id")
		}
		if tables := holding(t, raw, source); !slices.Equal(tables, []string{"contents"}) {
			t.Errorf("%q have the source of an app", tables)
		}
		before := rowsWith(t, raw, otherID)
		must(d.Organizations.EraseOrganization(t.Context(), id))(t)
		wantKept(t, raw, otherID, before)
		wantGone(t, raw, source)
		// The server may still have the key in its cache.
		_, appErr := s.CreateApp(t.Context(), client.AppDraft{Name: "Late", IsGlobal: true})
		_, inviteErr := s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "late@x.example"})
		_, hookErr := s.CreateWebhook(t.Context(), client.WebhookPatch{URL: new("https://hooks.acme.example/late"), Events: []string{"webhook.test"}})
		for _, err := range []error{appErr, inviteErr, hookErr} {
			if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status >= 500 {
				t.Errorf("made after that: %v", err)
			}
		}
		want := []string{"activity", "activity_chains", "activity_counts", "activity_numbers", "activity_unnumbered", "invite_counts", "plugin_counts"}
		found := slices.DeleteFunc(holding(t, raw, id), func(table string) bool { return slices.Contains(want, table) })
		if len(found) != 0 {
			t.Errorf("%q still have it", found)
		}
		events := func(id string) int {
			return must(db.One[int](t.Context(), raw, nil, `SELECT COUNT(*) FROM activity WHERE organization_id = $1 AND data IS NOT NULL`, id))(t)
		}
		if left, others := events(id), events(otherID); left != 0 || others == 0 {
			t.Errorf("%d events are left, and %d of the other organization", left, others)
		}
		awaitRefused(t, s, bound.APIKey)
		until(t, func() bool { return browse(t, "GET", s.URL+"/sites/"+site.Token+"/manifest.json", nil).status == 404 })
		if got := browse(t, "GET", s.URL+"/api/organizations/"+id, map[string][]string{"Authorization": {"Bearer " + s.key}}); got.status != 404 {
			t.Errorf("%d: %s", got.status, got.body)
		}
		orphan := must(elsewhere.GetPlacement(t.Context(), theirs.ID, global.ID))(t)
		if orphan.Running != nil || orphan.Held == nil || *orphan.Held != "The app is gone." {
			t.Errorf("an app of the organization elsewhere: %+v", orphan)
		}
		if got := browse(t, "GET", s.URL+"/sites/"+theirs.Token+"/manifest.json", nil); !strings.HasSuffix(got.body, `"apps":[]}`) {
			t.Errorf("a site elsewhere: %s", got.body)
		}
		if err := elsewhere.DeletePlacement(t.Context(), theirs.ID, global.ID); err != nil {
			t.Error(err)
		}
		if n := must(elsewhere.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Count; n != 1 {
			t.Errorf("%d apps elsewhere", n)
		}
		verifyAll(t, d)
	})
}

// A request that invites while its organization is erased waits for that and is refused. There is no deadlock.
func TestInviteWhileErasing(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t) // SQLite has one transaction at a time
	s := start(t, config.Config{Database: url})
	whileErasing(t, s, url, []int{1, 2, 3, 4, 5, 6}, func(ctx context.Context) error {
		_, err := s.CreateInvite(ctx, client.InviteDraft{TargetEmail: "late@x.example"})
		return comesTooLate(err)
	})
}

// The same is true of saving an app of the organization that sites have.
func TestSaveWhileErasing(t *testing.T) {
	t.Parallel()
	for _, global := range []bool{true, false} {
		url := dbtest.Postgres(t)
		s := start(t, config.Config{Database: url})
		app := s.withSite(t, "export const n = 1")
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: &global}))(t)
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID}))(t)
		whileErasing(t, s, url, []int{3}, func(ctx context.Context) error {
			_, err := s.UpdateSource(ctx, app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new("export const n = 2")}})
			return comesTooLate(err)
		})
	}
}

// The same is true of adding an app, once the others are erased, and of sharing a new one before that: another organization
// could place it, and would keep it.
func TestAddAppWhileErasing(t *testing.T) {
	t.Parallel()
	for after, global := range map[int]bool{3: true, 4: false} {
		url := dbtest.Postgres(t)
		s := start(t, config.Config{Database: url})
		whileErasing(t, s, url, []int{after}, func(ctx context.Context) error {
			_, err := s.CreateApp(ctx, client.AppDraft{Name: "Late", PluginType: "source", IsGlobal: global, Source: client.Files{"site.ts": "export const n = 1"}})
			return comesTooLate(err)
		})
	}
}

// whileErasing erases the organization of a server. After each of the given numbers of erasers it starts a change,
// which may have to wait for the erasure, and wants no error from it.
func whileErasing(t *testing.T, s *running, url string, after []int, change func(context.Context) error) {
	t.Helper()
	cfg := config.Config{Database: url, Secret: "a secret that all servers of the tests share"}
	d := openDomain(t, cfg)
	raw := dbtest.Open(t, url)
	id := must(s.Get(t.Context()))(t).ID
	changed, begun := make(chan error, len(after)), 0
	begin := func(ctx context.Context, tx *db.Tx, _ string) error {
		if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil { // the pending statements have run when this returns
			return err
		}
		begun++
		go func() { changed <- change(context.WithoutCancel(t.Context())) }()
		return dbtest.AwaitWaiting(context.WithoutCancel(t.Context()), raw, begun, changed)
	}
	for _, i := range slices.Backward(after) {
		d.Organizations.OrganizationErasers = slices.Insert(d.Organizations.OrganizationErasers, i, begin)
	}
	if _, err := d.Organizations.EraseOrganization(t.Context(), id); err != nil {
		t.Error(err)
	}
	for range after {
		if err := <-changed; err != nil {
			t.Errorf("changed: %v", err)
		}
	}
}

// comesTooLate returns an error unless a request was refused, as its organization is gone.
func comesTooLate(err error) error {
	if refusal, ok := errors.AsType[*client.Error](err); ok && refusal.Status < 500 {
		return nil
	}
	return cmp.Or(err, errors.New("went through"))
}
