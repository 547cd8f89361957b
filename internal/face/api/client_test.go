package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
)

// clientCalls has one call of the Go client for each operation of an organization.
var clientCalls = map[string]func(context.Context, *client.Organization) (any, error){
	"listApps": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListApps(ctx, client.AppFilter{}, client.Range{Limit: 1})
	},
	"createApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.CreateApp(ctx, client.AppDraft{PluginType: client.PluginCustom, URL: "https://git.example.com/a", IsGlobal: true})
	},
	"getApp": func(ctx context.Context, o *client.Organization) (any, error) { return o.GetApp(ctx, 42) },
	"updateApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpdateApp(ctx, 42, client.AppPatch{Name: new("a"), Metrics: client.Null()})
	},
	"deleteApp": func(ctx context.Context, o *client.Organization) (any, error) { return nil, o.DeleteApp(ctx, 42) },
	"checkForUpdates": func(ctx context.Context, o *client.Organization) (any, error) {
		app, _, err := o.CheckForUpdates(ctx, 42)
		return app, err
	},
	"getSource": func(ctx context.Context, o *client.Organization) (any, error) { return o.GetSource(ctx, 42) },
	"updateSource": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpdateSource(ctx, 42, client.SourcePatch{Source: map[string]*string{"site.ts": new(""), "old.ts": nil}})
	},
	"upgradeApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpgradeApp(ctx, 42, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v1")}, AcceptChanged: true, Commit: "4f2a"})
	},
	"listVersions": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListVersions(ctx, 42, client.Range{Limit: 1})
	},
	"getVersion":   func(ctx context.Context, o *client.Organization) (any, error) { return o.GetVersion(ctx, 42, 2) },
	"diffVersions": func(ctx context.Context, o *client.Organization) (any, error) { return o.DiffVersions(ctx, 42, 2, 1) },
	"reviewUpgrade": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ReviewUpgrade(ctx, 42, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v1.3.0")}})
	},
	"listActivity": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListActivity(ctx, client.ActivityFilter{}, client.Range{})
	},
	"listExportsUnsubscribeConfigs": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListExportsUnsubscribeConfigs(ctx, client.Range{})
	},
	"listRepository": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListRepository(ctx, client.Range{})
	},
	"listUnusedApps": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListUnusedApps(ctx, client.Range{})
	},
	"listInvites": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListInvites(ctx, client.InviteFilter{}, client.Range{})
	},
	"createInvite": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.CreateInvite(ctx, client.InviteDraft{TargetEmail: "a@example.com", Level: client.LevelOwner, SendEmail: new(false)})
	},
	"deleteInvite": func(ctx context.Context, o *client.Organization) (any, error) {
		return nil, o.DeleteInvite(ctx, "01981f10-02aa-7c1d-8b53-9d6f4f0f7e20")
	},
	"resendInvite": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ResendInvite(ctx, "01981f10-02aa-7c1d-8b53-9d6f4f0f7e20")
	},
	"linkInvite": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.LinkInvite(ctx, "01981f10-02aa-7c1d-8b53-9d6f4f0f7e20")
	},
	"listAudit": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListAudit(ctx, client.AuditFilter{Scope: "Key"}, client.Range{})
	},
	"getActivityHead": func(ctx context.Context, o *client.Organization) (any, error) { return o.ActivityHead(ctx) },
	"listMembers": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListMembers(ctx, client.MemberFilter{Search: "ada", Level: client.LevelAdmin}, client.Range{})
	},
	"getMember": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.GetMember(ctx, "01981f12-77d1-7be0-a1c5-02f6c3e9d417")
	},
	"updateMember": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.SetLevel(ctx, "01981f12-77d1-7be0-a1c5-02f6c3e9d417", client.LevelAdmin)
	},
	"deleteMember": func(ctx context.Context, o *client.Organization) (any, error) {
		return nil, o.RemoveMember(ctx, "01981f12-77d1-7be0-a1c5-02f6c3e9d417")
	},
	"getOverview":     func(ctx context.Context, o *client.Organization) (any, error) { return o.Overview(ctx) },
	"getOrganization": func(ctx context.Context, o *client.Organization) (any, error) { return o.Get(ctx) },
	"updateOrganization": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.Change(ctx, client.OrganizationPatch{AllowedDomains: &[]string{"example.com"}, InviteTTL: new(int64(3600))})
	},
	"listOrganizationKeys": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListKeys(ctx, client.Range{})
	},
	"deleteOrganizationKey": func(ctx context.Context, o *client.Organization) (any, error) { return nil, o.DeleteKey(ctx, 12) },
	"createInvitesBulk": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.CreateInvites(ctx, []client.InviteDraft{{TargetEmail: "a@example.com"}})
	},
}

// ownCalls are the calls that belong to no organization.
var ownCalls = map[string]func(context.Context, *client.Client) (any, error){
	"listOrganizations": func(ctx context.Context, c *client.Client) (any, error) {
		return c.ListOrganizations(ctx, client.Range{})
	},
	"getSelf": func(ctx context.Context, c *client.Client) (any, error) { return c.Self(ctx) },
	"updateSelf": func(ctx context.Context, c *client.Client) (any, error) {
		return c.ChangeSelf(ctx, client.SelfPatch{LastName: new("King")})
	},
	"listKeys": func(ctx context.Context, c *client.Client) (any, error) { return c.ListKeys(ctx, client.Range{}) },
	"createKey": func(ctx context.Context, c *client.Client) (any, error) {
		return c.CreateKey(ctx, client.KeyDraft{Scopes: []string{"plugin:read"}, ExpiresAt: new(time.Unix(1e9, 0))})
	},
	"deleteKey": func(ctx context.Context, c *client.Client) (any, error) { return nil, c.DeleteKey(ctx, 12) },
	"listSessions": func(ctx context.Context, c *client.Client) (any, error) {
		return c.ListSessions(ctx, client.Range{})
	},
	"getSession":     func(ctx context.Context, c *client.Client) (any, error) { return c.GetSession(ctx, 7) },
	"deleteSession":  func(ctx context.Context, c *client.Client) (any, error) { return nil, c.DeleteSession(ctx, 7) },
	"deleteSessions": func(ctx context.Context, c *client.Client) (any, error) { return nil, c.DeleteSessions(ctx) },
	"requestSignIn": func(ctx context.Context, c *client.Client) (any, error) {
		return struct{}{}, c.RequestSignIn(ctx, "ada@example.com")
	},
	"showInvite": func(ctx context.Context, c *client.Client) (any, error) { return c.GetInvitation(ctx, "token") },
	"listOwnInvites": func(ctx context.Context, c *client.Client) (any, error) {
		return c.ListOwnInvites(ctx, client.Range{})
	},
	"acceptOwnInvite": func(ctx context.Context, c *client.Client) (any, error) {
		return c.AcceptOwnInvite(ctx, "01981f30-1b7e-7a52-8b1a-7f2d9f3c4e55", "token")
	},
	"declineOwnInvite": func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.DeclineOwnInvite(ctx, "01981f30-1b7e-7a52-8b1a-7f2d9f3c4e55")
	},
	"declineInvite": func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.DeclineInvitation(ctx, "token")
	},
	"acceptInvite": func(ctx context.Context, c *client.Client) (any, error) {
		return c.AcceptInvitation(ctx, "token", client.Names{FirstName: new("Ada")})
	},
}

// Each call of the Go client must be an operation of the document with a valid body, and must keep everything in the
// document's example of its answer.
func TestClientSpeaksTheDocument(t *testing.T) {
	t.Parallel()
	examples := newExampleServer(t)
	server := httptest.NewServer(examples)
	defer server.Close()
	c, err := client.New(server.URL, "foy_key")
	if err != nil {
		t.Fatal(err)
	}
	calls := maps.Clone(clientCalls)
	maps.Copy(calls, siteCalls)
	maps.Copy(calls, eventCalls)
	for id, call := range ownCalls {
		calls[id] = func(ctx context.Context, _ *client.Organization) (any, error) { return call(ctx, c) }
	}
	for id, call := range calls {
		got, err := call(t.Context(), c.Organization(client.Current))
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if want := examples.answers[id].body; want != nil && !sameJSON(t, got, want) {
			t.Errorf("%s: the client makes %+v of %s", id, got, want)
		}
	}
	if asked, documented := slices.Sorted(maps.Keys(examples.asked)), slices.Sorted(maps.Keys(examples.answers)); !slices.Equal(asked, documented) {
		t.Errorf("asked for %v, documented are %v", asked, documented)
	}
}

// sameJSON reports whether value, encoded as JSON, equals text. A null text in one may be empty in the other, as in
// next.
func sameJSON(t *testing.T, value any, text []byte) bool {
	t.Helper()
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(t, written) == canonical(t, text)
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if object, ok := value.(map[string]any); ok {
		for _, name := range []string{"next", "previous"} {
			if object[name] == "" {
				object[name] = nil
			}
		}
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(sorted), ".000000Z", "Z")
}

// exampleServer answers each operation with the example of the document.
type exampleServer struct {
	*http.ServeMux
	answers map[string]exampleAnswer
	mu      sync.Mutex
	asked   map[string]bool
}

type exampleAnswer struct {
	status int
	body   []byte // nil: none
}

func newExampleServer(t *testing.T) *exampleServer {
	t.Helper()
	doc := readDocument(t)
	checker := checker(t)
	s := &exampleServer{ServeMux: http.NewServeMux(), answers: map[string]exampleAnswer{}, asked: map[string]bool{}}
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if !strings.HasPrefix(o.Path, "/api/") {
			continue
		}
		answer, takes := doc.success(t, o)
		s.answers[o.ID] = answer
		s.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); takes != "" {
				checker.CheckValue(t, takes+"/content/application~1json/schema", body)
			} else if len(body) > 0 {
				t.Errorf("%s takes no body, got %s", o.ID, body)
			}
			s.mu.Lock()
			s.asked[o.ID] = true
			s.mu.Unlock()
			w.WriteHeader(answer.status)
			io.Copy(w, bytes.NewReader(answer.body))
		})
	}
	return s
}
