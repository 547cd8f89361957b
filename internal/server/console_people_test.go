package server_test

import (
	"html"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
)

const (
	invitesPage  = "/console/@current/invites"
	invitingPage = "/console/@current/invites/new"
	membersPage  = "/console/@current/members"
)

func countInvites(t *testing.T, s *running) int {
	t.Helper()
	return must(s.ListInvites(t.Context(), client.InviteFilter{}, client.Range{}))(t).Count
}

func secondMember(t *testing.T, s *running) client.Member {
	t.Helper()
	return must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[1]
}

// The first owner must say who they are before the first invite is sent.
func TestConsoleIntroduction(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: org.NobodysEmail}})
		v, ada := visit(t, s, s.key), visit(t, s, join(t, s))
		v.want(200, "First say who you are", v.get(invitingPage))
		v.want(200, "You have none yet: it becomes yours at once.", v.get("/console/profile"))
		v.want(400, "Say first who you are", v.post(invitingPage, "do", "invite", "level", "1", "addresses", "eve@x.example"))
		send := func(email, name string) shown {
			return v.post(invitingPage, "do", "introduce", "email", email, "first_name", "Grace", "last_name", "Hopper", "organization_name", name)
		}
		v.want(400, `aria-invalid="true" aria-describedby="faults" value="grace"`, send("grace", "Acme"))
		v.want(400, "There is another user with this address", send("ada@x.example", "Acme"))
		v.want(400, "Must not be empty", send("typo@x.example", ""))
		v.want(400, `<a href="#organization_name">Name of the organization: Must be at most 200 characters long`, send("typo@x.example", strings.Repeat("x", 201)))
		self := must(client.New(s.URL, s.key))(t).Self
		if u := must(self(t.Context()))(t); u.Email != org.NobodysEmail || u.FirstName != "" {
			t.Errorf("changed by what was refused: %+v", u)
		}
		if o := must(s.Get(t.Context()))(t); o.Name != "My organization" {
			t.Errorf("renamed to %s by what was refused", o.Name)
		}
		ada.want(200, "Invite people", ada.get(invitingPage))
		v.want(200, "Invites to Acme now come from grace@x.example.", send("Grace@x.example", "Acme"))
		v.want(400, "Nothing is changed: you have said who you are, and your address is grace@x.example.", send("mary@x.example", "Other")) // from another tab
		if o := must(s.Get(t.Context()))(t); o.Name != "Acme" {
			t.Errorf("renamed to %s by another tab", o.Name)
		}
		v.want(200, `<h1 tabindex="-1" autofocus>1 invited`, v.post(invitingPage, "do", "invite", "level", "1", "addresses", "eve@x.example"))
		by := must(s.ListInvites(t.Context(), client.InviteFilter{}, client.Range{}))(t).Results[0].CreatedBy
		if by.Email != "grace@x.example" || by.FirstName != "Grace" || by.LastName != "Hopper" || by.IsEmailVerified {
			t.Errorf("%+v", by)
		}
		other := "eve@x.example"
		c := must(client.New(s.URL, s.key))(t)
		if same, err := c.ChangeSelf(t.Context(), client.SelfPatch{Email: &other}); err == nil || !strings.Contains(err.Error(), "no mail server") {
			t.Errorf("an address is changed without a mail server: %+v, %v", same, err)
		}
		v.want(200, "no mail server to confirm", v.get("/console/profile"))
	})
}

// Everybody who can be invited is invited, even if other addresses are wrong. A fault of the whole form is shown once.
func TestConsoleInviting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		send := func(do, addresses, message string) shown {
			return v.post(invitingPage, "do", do, "level", "1", "addresses", addresses, "message", message)
		}
		long := send("invite", "\"Doe, Jane\" <jane@x.example>\nrick@x.example", strings.Repeat("x", 5001))
		v.want(400, `<li><a href="#message">A message: Must be at most 5000`, long)
		v.want(400, "Nobody was invited.", long)
		if strings.Count(long.body, "Must be at most 5000") != 1 || strings.Contains(long.body, "@x.example: ") {
			t.Error(long.body)
		}
		v.want(400, `<li><a href="#addresses">E-mail addresses: Rick Roe: Must be an e-mail address`, send("invite", "Rick Roe", ""))
		preview := send("preview", "jane@x.example", "Come in \u2764\ufe0f!")
		v.want(200, "Nobody has been invited yet.", preview)
		v.want(200, "invites you to join My organization as a member", preview)
		v.want(200, "> Come in \u2764\ufe0f!", preview)
		v.want(200, "\nCome in \u2764\ufe0f!</textarea>", preview)
		v.want(200, "to join My organization as an admin", v.post(invitingPage, "do", "preview", "level", "8", "addresses", "jane@x.example"))
		if n := countInvites(t, s); n != 0 {
			t.Errorf("%d invites", n)
		}
		some := send("invite", "jane@x.example\nRick Roe\nJane@x.example", "")
		v.want(200, "1 invited, 2 not", some)
		v.want(200, "Must be an e-mail address", some)
		v.want(200, "Appears twice", some)
		v.want(200, "spellcheck=\"false\" autocapitalize=\"none\">\nRick Roe\n</textarea>", some) // Jane is invited
		v.want(200, "2 invited", send("invite", "Name\tE-mail\nJane Doe\tjane@x.example\u00a0\nRick Roe\tmailto:rick@x.example", ""))
		if n := countInvites(t, s); n != 2 {
			t.Errorf("%d invites", n)
		}
		odd := send("invite", "o/neil=x@x.example\nrick@bücher.example", "") // as they were typed
		v.want(200, "<bdi>o/neil=x@x.example</bdi>", odd)
		v.want(200, "<bdi>rick@bücher.example</bdi>", odd)
		v.want(200, "<bdi>o/neil=x@x.example</bdi>", v.get(invitesPage))
		v.want(400, "Days until it expires: Must be a whole number from 1 to 30", v.post(invitingPage, "do", "invite", "level", "1", "addresses", "a@x.example", "expires_days", "31"))
	})
}

// The form keeps its other fields, so that a corrected address is invited in the same way as the others.
func TestConsoleInvitesTheOthersAlike(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, _ := startMailing(t, config.Config{Database: url})
		v := visit(t, s, s.key)
		v.want(200, `name="send_email" checked>`, v.get(invitingPage))
		some := v.post(invitingPage, "do", "invite", "level", "8", "addresses", "jane@x.example\nrick@x", "message", "Come in!", "expires_days", "20")
		v.want(200, "1 invited, 1 not", some)
		for _, kept := range []string{`<option value="8" selected>`, "\nCome in!</textarea>", `value="20"`, `name="send_email">`, "\nrick@x\n</textarea>"} {
			v.want(200, kept, some)
		}
	})
}

// The buttons on the pages of invites have the effects that the API shows.
func TestConsoleInvites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		v.want(200, "not mailed", v.post(invitingPage, "do", "invite", "level", "8", "addresses", "ada@x.example", "message", "Hello", "send_email", "on"))
		invite := must(s.ListInvites(t.Context(), client.InviteFilter{}, client.Range{}))(t).Results[0]
		if invite.Level != client.LevelAdmin || invite.Message != "Hello" {
			t.Errorf("%+v", invite)
		}
		link := func() string {
			page := v.post(invitesPage, "do", "link", "id", invite.ID)
			v.want(200, `data-copy="link"`, page)
			v.want(200, "Anyone who has it can accept the invite", page)
			v.want(200, `<code id="link" class="link" tabindex="0" autofocus>`, page)
			return regexp.MustCompile(`/invite/[\w-]{64}`).FindString(page.body)
		}
		first := link()
		v.want(200, `took the link of the invite of <a href="/console/`, v.get("/console/@current"))
		v.want(200, "There is a new link for ada@x.example", v.post(invitesPage, "do", "resend", "id", invite.ID))
		if again := link(); first == "" || again == first {
			t.Errorf("%q, then %q", first, again)
		}
		second := must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "bea@x.example"}))(t)
		v.want(400, "Choose at least one.", v.post(invitesPage, "do", "resend"))
		v.want(200, "2 invites have new links", v.post(invitesPage, "do", "resend", "id", invite.ID, "id", second.ID))
		v.want(200, "1 of 2 invites are withdrawn: their links no longer work. Not done for others: It is gone", v.post(invitesPage, "do", "withdraw", "id", second.ID, "id", nobody))
		for query, found := range map[string]bool{"?search=ADA": true, "?search=eve": false, "?search=+ada@x.example+": true, "?status=pending": true, "?status=expired": false, "?delivery=failed": false, "?status=any&delivery=none": true} {
			if page := v.get(invitesPage + query); page.status != http.StatusOK || strings.Contains(page.body, `aria-label="Choose ada@x.example"`) != found {
				t.Errorf("%s: %d:\n%s", query, page.status, page.body)
			}
		}
		v.want(200, "The invite is withdrawn", v.post(invitesPage, "do", "withdraw", "id", invite.ID))
		v.want(200, "There are no pending invites.", v.get(invitesPage))
	})
}

// An accepted invite is forgotten and never withdrawn, not even from a page that was opened before it was accepted.
func TestConsoleForgetsInvites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		join(t, s)
		v := visit(t, s, s.key)
		filter := client.InviteFilter{Status: []string{"any"}}
		find := func() client.Page[client.Invite] {
			return must(s.ListInvites(t.Context(), filter, client.Range{}))(t)
		}
		id := find().Results[0].ID
		page := v.get(invitesPage + "?status=accepted")
		v.want(200, "Forget the invite of ada@x.example", page)
		v.lacks(200, "Selected:", page)
		v.lacks(200, `value="withdraw"`, page)
		v.want(400, "ada@x.example has accepted the invite.", v.post(invitesPage, "do", "withdraw", "id", id))
		if find().Count != 1 {
			t.Error("forgotten unasked")
		}
		v.want(200, "The accepted invite is forgotten. Nothing else has changed.", v.post(invitesPage, "do", "forget", "id", id))
		if find().Count != 0 {
			t.Error("not forgotten")
		}
		var several []string
		for _, email := range []string{"bea@x.example", "cleo@x.example"} {
			several = append(several, "id", must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email}))(t).ID)
		}
		v.want(200, "2 accepted invites are forgotten. Nothing else has changed.", v.post(invitesPage, append([]string{"do", "forget"}, several...)...))
	})
}

// The console does not offer what a user may not do with invites, neither in the list nor to a key that cannot invite.
func TestConsoleOffersInvites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		key := join(t, s)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example"}))(t)
		v, ada := visit(t, s, s.key), visit(t, s, key)
		v.want(200, "Selected:", v.get(invitesPage))
		v.want(200, `value="link"`, v.get(invitesPage))
		page := ada.get(invitesPage)
		ada.want(200, "eve@x.example", page)
		ada.lacks(200, "Selected:", page)
		ada.lacks(200, ">Choose<", page)
		ada.lacks(200, `value="link"`, page)
		reader := visit(t, s, s.keyFor(t, "plugin:read"))
		page = reader.get(invitingPage)
		reader.want(200, "does not let you invite people here", page)
		reader.lacks(200, "<textarea", page)
		sent := reader.post(invitingPage, "do", "invite", "level", "1", "addresses", "bea@x.example")
		reader.want(403, "\nbea@x.example</textarea>", sent)
	})
}

// If the mail server refuses a mail, the page says so in the server's words.
func TestConsoleRefusedMail(t *testing.T) {
	t.Parallel()
	mails := mailtest.Start(t, mailtest.Config{})
	mails.Always(mailtest.RefuseRecipient(550, "no such user"))
	s := start(t, config.Config{SMTP: mails.URL(), MailFrom: "foyer@foyer.example"})
	v := visit(t, s, s.key)
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
	until(t, func() bool { return strings.Contains(v.get(invitesPage+"?delivery=failed").body, "by the mail server") })
	v.want(200, "by the mail server: <bdi>5.0.0 no such user (550)</bdi>", v.get(invitesPage))
	v.want(200, "1 invite could not be mailed", v.get("/console/@current"))
}

// The time beside the state of an accepted invite is when it was accepted; that of its mail is not shown any more.
func TestConsoleAcceptedInvite(t *testing.T) {
	t.Parallel()
	s, mails := startMailing(t, config.Config{})
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
	v := visit(t, s, s.key)
	until(t, func() bool { return strings.Contains(v.get(invitesPage+"?delivery=sent").body, "ada@x.example") })
	link := mailed(t, mails, 1)
	anybody := must(client.New(s.URL, ""))(t)
	must(anybody.AcceptInvitation(t.Context(), path.Base(link), client.Names{}))(t)
	page := v.get(invitesPage + "?status=accepted")
	if state := regexp.MustCompile(`(?s)<td class="state".*?</td>`).FindString(page.body); strings.Count(state, "<time") != 1 {
		t.Errorf("%s", state)
	}
}

// A change of role and a removal each have a page that says what they mean; the next page says what was done.
func TestConsoleMembers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v, ada := visit(t, s, s.key), visit(t, s, join(t, s))
		member := secondMember(t, s)
		role, removal := membersPage+"/"+member.ID+"/role", membersPage+"/"+member.ID+"/remove"
		v.want(200, "Change the role of <bdi>ada@x.example</bdi>", v.get(role))
		set := func(v *visitor, path, level string) shown {
			return v.post(path, v.get(path).fill(t, "level", "level", level)...)
		}
		v.want(200, "ada@x.example is now an admin.", set(v, role, "8"))
		if got := secondMember(t, s); got.Level != client.LevelAdmin {
			t.Errorf("%+v", got)
		}
		v.want(200, "is an <strong>admin</strong>, and joined <time", v.get(removal))
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example", Level: client.LevelOwner}))(t)
		theirs := ada.get(invitesPage) // what an admin is offered of an owner's invite
		ada.want(200, `value="withdraw"`, theirs)
		ada.lacks(200, `value="link"`, theirs)
		ada.lacks(200, ">owner</option>", ada.get(invitingPage))
		owner := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[0]
		page := ada.get(membersPage)
		ada.want(200, member.ID+"/remove", page)
		ada.lacks(200, owner.ID, page)
		for _, page := range []string{"/role", "/remove"} {
			ada.want(403, "That did not work", ada.get(membersPage+"/"+owner.ID+page))
		}
		ada.want(200, "You cannot take this back yourself.", ada.get(role))
		ada.want(200, "You are now a member.", set(ada, role, "1"))
		ada.want(200, "Leave <bdi>My organization</bdi>", ada.get(removal))
		for _, page := range []string{"/role", "/remove"} {
			last := v.get(membersPage + "/" + owner.ID + page)
			v.want(200, "The last owner must stay: make another member owner first.", last)
			v.lacks(200, `name="do"`, last)
		}
		v.want(200, "ada@x.example is now an owner.", set(v, role, "15"))
		v.want(200, "You cannot take this back yourself.", v.get(membersPage+"/"+owner.ID+"/role"))
		v.want(200, "You are an <strong>owner</strong>, and joined <time", v.get(membersPage+"/"+owner.ID+"/remove"))
		v.want(200, "ada@x.example is now a member.", set(v, role, "1"))
		v.want(403, "last owner", v.post(membersPage+"/"+owner.ID+"/role", "do", "level", "level", "1", "was.level", "15"))
		v.want(403, "last owner", v.post(membersPage+"/"+owner.ID+"/remove", "do", "remove"))
		const found = "?role=member&search=ada"
		list := v.get(membersPage + found).body
		for _, page := range []string{"role", "remove"} {
			led := regexp.MustCompile(`href="([^"]*/` + page + `[^"]*)"`).FindStringSubmatch(list)[1]
			v.want(200, `/members`+found+`">Cancel</a>`, v.get(html.UnescapeString(led)))
		}
		if same := set(v, role+found, "1"); !strings.HasSuffix(same.path, "/members"+found) {
			t.Errorf("leads to %s", same.path)
		}
		v.want(200, "Their keys that open this organization alone are revoked.", v.get(removal))
		v.want(200, "ada@x.example is no longer a member.", v.post(removal, "do", "remove"))
		if n := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Count; n != 1 {
			t.Errorf("%d members", n)
		}
		v.want(404, "Not found", v.get(role))
	})
}

// A role is changed only from the one that the page has shown: otherwise, a promotion could become a demotion.
func TestConsoleRoleChangedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		join(t, s)
		v, member := visit(t, s, s.key), secondMember(t, s)
		role := membersPage + "/" + member.ID + "/role"
		opened, refused := v.get(role), shown{}
		must(s.SetLevel(t.Context(), member.ID, client.LevelOwner))(t)
		for _, chosen := range [][]string{{"level", "8"}, nil} {
			refused = v.post(role, opened.fill(t, "level", chosen...)...)
			v.want(400, `<a href="#level">Role: Somebody else has changed it: ada@x.example is now an owner. Choose again.`, refused)
			if got := secondMember(t, s); got.Level != client.LevelOwner {
				t.Errorf("%v: %+v", chosen, got)
			}
		}
		v.want(200, "ada@x.example is now an admin.", v.post(role, refused.fill(t, "level", "level", "8")...))
	})
}

// Members can be searched on their page, which shows when they were active and who invited them. The next pages keep
// the search.
func TestConsoleFindsMembers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		visit(t, s, join(t, s))
		v := visit(t, s, s.key)
		page := v.get(membersPage)
		for _, text := range []string{`data-label="Last active"><`, `data-label="Invited by" class="long"><bdi>grace@acme.example</bdi>`} {
			v.want(200, text, page)
		}
		wantOnly := func(query, want, not string) {
			t.Helper()
			found := v.get(membersPage + query)
			if _, main, _ := strings.Cut(found.body, "<tbody>"); found.status != 200 || !strings.Contains(main, `<th scope="row"><span class="note"><bdi>`+want) || strings.Contains(main, `<th scope="row"><span class="note"><bdi>`+not) {
				t.Errorf("%s: %d\n%s", query, found.status, main)
			}
		}
		wantOnly("?search=ADA", "ada@x.example", "grace@")
		wantOnly("?search=+ada@x.example+", "ada@x.example", "grace@")
		wantOnly("?role=owner&search=", "grace@acme.example", "ada@")
		v.want(200, "No member matches", v.get(membersPage+"?search=ada&role=admin"))
		boss := v.get(membersPage + "?role=boss&search=ada")
		v.want(400, "Role: Choose one of the list", boss)
		v.want(400, `value="ada" aria-label="Address or name"`, boss)

		for i := range 60 {
			joinAs(t, s, "many"+strconv.Itoa(i)+"@x.example")
		}
		first := v.get(membersPage + "?search=many&role=member")
		next := regexp.MustCompile(`href="([^"]+)">Next`).FindStringSubmatch(first.body)
		if next == nil {
			t.Fatal(first.body)
		}
		v.want(200, "51 to 60 of 60", v.get(html.UnescapeString(next[1])))
	})
}

// Owners change the settings of their organization, and all users their name.
func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v, ada := visit(t, s, s.key), visit(t, s, join(t, s))
		const page = "/console/@current/settings"
		set := func(form ...string) shown {
			return v.post(page, append(form, "do", "set", "members_can_invite", "on", "was.members_can_invite", "on", "was.name", "My organization", "was.allowed_domains", "", "was.invite_ttl", "")...)
		}
		v.want(200, "Nothing is changed: the settings of My organization are as they were.", set("name", "My organization"))
		v.want(200, "The settings of Acme are changed: the name, the domains of addresses, the days until invites expire.", set("name", "Acme", "allowed_domains", "x.example, y.example、z.example", "invite_ttl", "0.02"))
		got := must(s.Get(t.Context()))(t)
		if got.Name != "Acme" || len(got.AllowedDomains) != 3 || got.InviteTTL == nil || *got.InviteTTL != 1728 || !got.MembersCanInvite || got.MembersCanManageApps {
			t.Errorf("%+v", got)
		}
		v.want(200, `value="x.example, y.example, z.example"`, v.get(page))
		set("name", "Acme", "was.invite_ttl", "0.02", "invite_ttl", "")
		if got := must(s.Get(t.Context()))(t); got.InviteTTL != nil {
			t.Errorf("%+v", got)
		}
		v.want(400, `name="name" aria-invalid="true"`, set("name", ""))
		for _, days := range []string{"x", "0", "0.0001", "0.05", "1e99", "-1"} {
			v.want(400, `<a href="#invite_ttl">Days until invites expire: Must be a number of days, at most 0.0416, or empty.`, set("name", "Acme", "invite_ttl", days))
		}
		two := set("name", strings.Repeat("x", 201), "invite_ttl", "x")
		v.want(400, `name="name" aria-invalid="true"`, two)
		v.want(400, `name="invite_ttl" aria-invalid="true"`, two)
		v.want(200, "Owners can change these.", ada.get(page))
		ada.want(403, "That did not work", ada.post(page, "do", "set", "name", "Mine"))
		const profile = "/console/profile"
		v.want(200, "You are now called Zed.", v.post(profile, "do", "names", "first_name", "", "last_name", "Zed"))
		v.want(200, "You have no name now: others see your address.", v.post(profile, v.get(profile).fill(t, "names", "last_name", "")...))
		v.want(200, "You are now called Grace.", v.post("/console/profile", "do", "names", "first_name", "Grace", "last_name", "Hopper"))
		v.want(200, `<bdi>Grace</bdi></summary>`, v.get(page))
		ada.want(200, "To change your name or address, sign in by another way", ada.get("/console/profile"))
	})
}

// Admins see the keys with access to their organization, and can revoke those that are bound to it.
func TestConsoleMemberKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v, ada := visit(t, s, s.key), visit(t, s, join(t, s))
		const page = "/console/@current/keys"
		shown := v.get(page)
		v.want(200, "ada@x.example", shown)
		if strings.Count(shown.body, `value="revoke"`) != 1 {
			t.Errorf("not one key can be revoked:\n%s", shown.body)
		}
		ada.want(403, "That did not work", ada.get(page))
		id := regexp.MustCompile(`name="id" value="(\d+)"`).FindStringSubmatch(shown.body)[1]
		v.want(200, "The key is revoked", v.post(page, "do", "revoke", "id", id))
		ada.want(401, "Your session is over", ada.get("/console"))
	})
}

// A new key is shown once, with its name and a command to try it.
func TestConsoleNewKey(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	made := v.post("/console/keys", "do", "make", "scopes", "plugin:read", "name", "deploy script")
	v.want(200, "Your new key: <bdi>deploy script</bdi>", made)
	v.want(200, `curl -H "Authorization: Bearer foy_`, made)
	v.want(200, `data-copy="curl"`, made)
	v.want(200, "<bdi>deploy script</bdi>", v.get("/console/keys"))
}

// The navigation is on all pages, also on error pages and those that belong to no organization. The switcher leads to
// the same page of another organization.
func TestConsoleNavigation(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	s := start(t, cfg)
	o := must(s.Get(t.Context()))(t)
	v := visit(t, s, s.key)
	for page, status := range map[string]int{
		"/keys": 200, "/sessions": 200, "/profile": 200, "": 200, "/" + nobody + "/apps": 404, "/@current/nothing/here": 404, "/@current/apps/12345": 404,
	} {
		v.want(status, `<a href="/console/`+o.ID+`/members"`, v.get("/console"+page))
	}
	v.want(200, "<bdi>grace@acme.example</bdi></summary>", v.get("/console"))
	member := visit(t, s, join(t, s))
	for page, status := range map[string]int{"/@current": 200, "/@current/members": 200, "/@current/keys": 403} {
		got := member.get("/console" + page)
		member.lacks(status, `/audit"`, got)
		member.lacks(status, o.ID+`/keys"`, got)
	}
	elsewhere, unbound := joinElsewhere(t, cfg, "ada@x.example")
	member = visit(t, s, unbound)
	for page, same := range map[string]string{
		"/" + o.ID + "/members": "/" + elsewhere + "/members", "/" + o.ID + "/apps/new": "/" + elsewhere + "/apps/new", "/" + o.ID + "/apps/5": "/" + elsewhere + "/apps",
		"/sessions": "/sessions?in=" + elsewhere, "": "/" + elsewhere, "/" + o.ID + "/search?q=ada": "/" + elsewhere + "/search?q=ada",
		"/" + o.ID + "/nothing/here": "/" + elsewhere, "/" + elsewhere + "/apps/5/nothing": "/" + o.ID,
	} {
		got := member.get("/console" + page)
		member.want(got.status, `<li><a href="/console`+same+`">`, got)
	}
	member.want(200, `<a href="/console/`+elsewhere+`/members"`, member.get("/console/profile?in="+elsewhere))
}

// The link to a page that belongs to no organization keeps the current organization.
func TestConsoleKeepsTheOrganization(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	s := start(t, cfg)
	visit(t, s, join(t, s))
	id, key := joinElsewhere(t, cfg, "ada@x.example")
	v, bare := visit(t, s, key), regexp.MustCompile(`href="(/docs|/console|/console/(?:keys|profile|sessions|invitations))"`)
	home, seen := "/console/"+id, 0
	for _, page := range []string{
		home, home + "/search?q=keys", home + "/search?q=profile", home + "/search?q=sessions", home + "/search?q=docu", home + "/keys",
		"/console/sessions?in=" + id, "/console/invitations?in=" + id, "/console/profile?in=" + id, "/docs?in=" + id,
	} {
		got := v.get(page)
		for _, link := range bare.FindAllString(got.body, -1) {
			t.Errorf("%s: %s", page, link)
		}
		seen += strings.Count(got.body, "?in="+id+`"`)
	}
	if seen < 40 {
		t.Errorf("only %d links", seen)
	}
}

// There is only our own script, which is small and cached by browsers.
func TestConsoleScript(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	got := browse(t, http.MethodGet, s.URL+markup.Enhancements.Path, nil)
	if got.status != 200 || len(got.body) > 10<<10 || got.header.Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d, %d bytes, %v", got.status, len(got.body), got.header)
	}
	page := browse(t, http.MethodGet, s.URL+"/console", nil)
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "; script-src 'self'; connect-src 'self'; frame-src 'self'; ") || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
}

// Members, who may see the activity of apps, see its latest entries on the first page.
func TestConsoleOverviewOfAMember(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		ada := visit(t, s, join(t, s))
		for i := range 11 {
			must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner " + strconv.Itoa(i)}))(t)
		}
		page := ada.get("/console/@current")
		_, latest, _ := strings.Cut(page.body, "Latest activity")
		if strings.Count(latest, "added the app") != 10 || !strings.Contains(latest, "Banner 10") || !strings.Contains(latest, `/activity">All activity</a>`) {
			t.Errorf("not the last ten:\n%s", page.body)
		}
	})
}

// The whole activity can be exported as lines, with the filter of the page.
func TestConsoleExport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v, ada := visit(t, s, s.key), visit(t, s, join(t, s))
		page := v.get("/console/@current/audit?scope=OrganizationMembership")
		export := regexp.MustCompile(`href="([^"]*/audit/export[^"]*)"`).FindStringSubmatch(page.body)[1]
		got := v.get(export)
		if lines := strings.Count(got.body, "\n"); got.status != 200 || lines != strings.Count(got.body, `"scope":"OrganizationMembership"`) || lines == 0 || !strings.Contains(got.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%d %v: %s", got.status, got.header, got.body)
		}
		item := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[1].ID
		v.want(200, "<bdi>joined</bdi>", v.get("/console/@current/audit?item=+"+item+"+"))
		day := must(s.ListAudit(t.Context(), client.AuditFilter{ItemID: item}, client.Range{}))(t).Results[0].CreatedAt.UTC().Format(time.DateOnly)
		v.want(200, "<bdi>joined</bdi>", v.get("/console/@current/audit?item="+item+"&since="+day+"&until="+day))
		ada.want(403, "Only admins and owners", ada.get(export))
		stranger := visit(t, s, "")
		stranger.want(401, "Sign in", stranger.get(export))
		wrong := v.get("/console/@current/audit?scope=Site&user=olive&since=2026-01-02")
		v.want(400, `<option value="Site" selected>`, wrong)
		v.want(400, `name="user" aria-invalid="true" aria-describedby="faults" value="olive"`, wrong)
		v.want(400, `value="2026-01-02"`, wrong)
		v.want(400, "<li>By: Must be the id of a user", wrong)
		v.want(400, "<li>Kind: Choose one of the list.</li>", v.get("/console/@current/audit?scope=plugin"))
		v.want(400, "<li>What: Choose one of the list.</li>", v.get("/console/@current/audit?activity=gone"))
		v.want(200, `/members?id=`+item+`"><bdi>joined</bdi>`, v.get("/console/@current/audit"))
		v.want(400, "<li>From: Must be a date", v.get("/console/@current/audit?since=x"))
		v.want(400, "<li>To: Must be a date", v.get("/console/@current/audit?until=9999-12-31"))
		v.want(200, "Activity", v.get("/console/@current/audit?until=9998-12-31"))
		v.want(400, "Must be a date", v.get("/console/@current/audit/export?since="+url.QueryEscape("x")))
		if page := v.get("/console/@current/audit/export?user=olive"); page.status != 400 || page.header.Get("Content-Disposition") != "" || !strings.Contains(page.body, "<h1>That did not work</h1>") {
			t.Errorf("%d %v\n%s", page.status, page.header, page.body)
		}
		for range 4 { // as many streams as a user may have
			stream := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/organizations/@current/events", nil))(t)
			stream.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Accept": {"text/event-stream"}}
			answer, err := http.DefaultClient.Do(stream)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
		}
		if refused := v.get(export); refused.status != 429 || refused.header.Get("Content-Disposition") != "" || strings.Contains(page.body, " download>") {
			t.Errorf("an error is saved as a file: %d %v\n%s", refused.status, refused.header, refused.body)
		}
	})
}

// A filter that cannot be parsed as intended is refused and not ignored, since the page or the export would show more
// than was requested.
func TestConsoleIgnoresNoFilter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		for query, want := range map[string]string{
			"?scope=Site;user=x":    "The query string has a ; in it",
			"?scope=Site&user=%zz":  "The query string has a % without two hexadecimal digits after it",
			"?scope=Site&scope=Key": "The query string has a parameter several times",
		} {
			for _, path := range []string{"/audit", "/audit/export", "/activity", "/invites", "/members", "/apps", "/sites"} {
				v.want(400, want, v.get("/console/@current"+path+query))
			}
			v.want(400, want, v.get("/console/keys"+query))
		}
	})
}
