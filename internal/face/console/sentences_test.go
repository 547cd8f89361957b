package console

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/domain/activity"
)

// Every kind of entry has a sentence.
func TestLines(t *testing.T) {
	t.Parallel()
	f := Frame{Home: "/console/o"}
	ada, key := &client.ActivityUser{ID: 1, Email: "ada@x.example"}, int64(1)
	for want, e := range map[string]client.AuditEntry{
		"BY added the app Banner":                                           {Scope: "Plugin", Activity: "installed", Detail: client.ActivityDetail{Name: "Banner"}},
		"BY changed the files of 7":                                         {Scope: "Plugin", Activity: "source_updated", ItemID: "7"},
		"The invite of eve@x.example expired":                               {Scope: "OrganizationInvite", Activity: "expired", Detail: client.ActivityDetail{Name: "eve@x.example"}},
		"An app of another organization changed what runs on the site shop": {Scope: "Site", Activity: "followed", Detail: client.ActivityDetail{Name: "shop"}},
		"BY joined":                           {Scope: "OrganizationMembership", Activity: "added", Detail: client.ActivityDetail{Name: "ada@x.example"}},
		"BY removed the member eve@x.example": {Scope: "OrganizationMembership", Activity: "removed", Detail: client.ActivityDetail{Name: "eve@x.example"}},
		"BY created a key":                    {Scope: "Key", Activity: "created", Detail: client.ActivityDetail{Name: "ada@x.example"}},
		"BY signed in":                        {Scope: "Session", Activity: "signed_in", Detail: client.ActivityDetail{Name: "ada@x.example"}},
		"Somebody failed to sign in as eve@x.example": {Scope: "Session", Activity: "sign_in_failed", Detail: client.ActivityDetail{Name: "eve@x.example"}},
		"BY removed the member somebody (erased)":     {Scope: "OrganizationMembership", Activity: "removed", Erased: true, KeyID: &key},
		"BY changed the member eve@x.example":         {Scope: "OrganizationMembership", Activity: "updated", Detail: client.ActivityDetail{Name: "eve@x.example", Changes: []client.Change{{Field: "level"}}}},
		"BY changed the member somebody (erased)":     {Scope: "OrganizationMembership", Activity: "updated", Erased: true, User: &client.ActivityUser{ID: 2}},
		"BY deleted the app Banner":                   {Scope: "Plugin", Activity: "uninstalled", Detail: client.ActivityDetail{Name: "Banner"}, Erased: true},
		"BY sign in failed webhook 3":                 {Scope: "Webhook", Activity: "sign_in_failed", ItemID: "3"},
	} {
		e.User = cmp.Or(e.User, ada)
		l := f.Line(e)
		got := strings.TrimSpace(map[bool]string{true: "BY "}[l.By] + l.Before + l.Thing + l.After)
		if got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, scope := range activity.Scopes() {
		for _, verb := range activity.Verbs() {
			if l := f.Line(client.AuditEntry{Scope: string(scope), Activity: string(verb), ItemID: "1"}); l.Before+l.Thing == "" {
				t.Errorf("%s %s has no sentence", scope, verb)
			}
		}
	}
}

// What only somebody themselves can do is told as their own, whatever their address is now; what an operator does is not.
func TestLinesAboutOneself(t *testing.T) {
	t.Parallel()
	ada := &client.ActivityUser{ID: 1, Email: "ada@new.example"}
	for _, c := range []struct {
		scope, activity, field string
		user                   *client.ActivityUser
		want                   string
	}{
		{"OrganizationMembership", "added", "", ada, "joined"},
		{"OrganizationMembership", "added", "", &client.ActivityUser{ID: 1}, "joined"}, // erased
		{"OrganizationMembership", "added", "", nil, "added the member ada@old.example"},
		{"OrganizationMembership", "updated", "email", ada, "changed their own membership"},
		{"OrganizationMembership", "updated", "email", nil, "changed the member ada@old.example"},
		{"Key", "created", "scopes", ada, "created a key"},
		{"Key", "created", "scopes", nil, "created a key of ada@old.example"},
		{"Key", "revoked", "", ada, "revoked a key of ada@old.example"}, // an admin may do that
	} {
		e := client.AuditEntry{Scope: c.scope, Activity: c.activity, User: c.user, Detail: client.ActivityDetail{Name: "ada@old.example"}}
		if c.field != "" {
			e.Detail.Changes = []client.Change{{Field: c.field}}
		}
		if l := (Frame{}).Line(e); l.Before+l.Thing+l.After != c.want {
			t.Errorf("%q, want %q", l.Before+l.Thing+l.After, c.want)
		}
	}
}

// A change is told in words; changed files have their own page.
func TestLineChanges(t *testing.T) {
	t.Parallel()
	change := func(field, before, after string) client.Change {
		return client.Change{Field: field, Before: json.RawMessage(before), After: json.RawMessage(after)}
	}
	l := Frame{Home: "/console/o", Offer: Offer{SeeApps: true}}.Line(client.AuditEntry{Scope: "Plugin", Activity: "source_updated", ItemID: "7", Detail: client.ActivityDetail{Changes: []client.Change{
		change("source", `"aa"`, `"bb"`), change("name", `"A"`, `"B"`), change("on", "false", "true"), change("n", "null", "2"), change("paths", "[]", `["/a","/b"]`), change("origins", "null", "[]"), change("gone", "[]", "null"), change("schema", "null", `[{"key":"x"}]`), change("level", "1", "8"),
	}}})
	if want := "/console/o/apps/7/compare?against=aa&version=bb"; l.Difference != want {
		t.Errorf("%q, want %q", l.Difference, want)
	}
	want := []changed{{"name", "A", "B", false}, {"on", "no", "yes", false}, {"n", "", "2", false}, {"paths", "none", "/a, /b", false}, {"origins", "", "none", false}, {"gone", "", "none", false}, {"schema", "", `[{"key":"x"}]`, true}, {"role", "member", "admin", false}}
	for i, c := range l.Changes {
		if i >= len(want) || c != want[i] {
			t.Errorf("%+v", c)
		}
	}
	if len(l.Changes) != len(want) {
		t.Errorf("%+v", l.Changes)
	}
}

// An entry links to the page of its thing if the viewer may see that page.
func TestLinesLeadToWhatIsOffered(t *testing.T) {
	t.Parallel()
	some := Frame{Home: "/console/o"}
	all := some
	all.Offer = Offer{SeeApps: true, SeePeople: true, SeeKeys: true, SeeWebhooks: true}
	for scope, verb := range map[string]string{"Plugin": "uninstalled", "Site": "deleted", "Webhook": "deleted"} {
		if l := all.Line(client.AuditEntry{Scope: scope, Activity: verb, ItemID: "7"}); l.Leads != "" {
			t.Errorf("%s %s leads to %q, which is gone", scope, verb, l.Leads)
		}
	}
	for scope, want := range map[string]string{
		"Plugin": "/apps/7", "Site": "/sites/7", "Webhook": "/webhooks/7", "Key": "/keys",
		"OrganizationInvite": "/invites?status=any&search=eve%40x.example", "OrganizationMembership": "/members?id=7",
	} {
		e := client.AuditEntry{Scope: scope, ItemID: "7", Detail: client.ActivityDetail{
			Name: "eve@x.example", Changes: []client.Change{{Field: "source", Before: json.RawMessage(`"a"`), After: json.RawMessage(`"b"`)}},
		}}
		if l := all.Line(e); l.Leads != "/console/o"+want || (l.Difference != "") != (scope == "Plugin") {
			t.Errorf("%s leads to %q and %q, want %q", scope, l.Leads, l.Difference, want)
		}
		if l := some.Line(e); l.Leads != "" || l.Difference != "" {
			t.Errorf("%s leads to %q and %q, which is not offered", scope, l.Leads, l.Difference)
		}
	}
}
