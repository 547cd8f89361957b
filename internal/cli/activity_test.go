package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/cli/terminal"
)

// verify exits with 1 and names the first entry that is missing.
func TestActivityVerify(t *testing.T) {
	t.Parallel()
	environ := dataFolder(t)
	hash := strings.Repeat("5f", 32)
	for _, c := range []struct {
		line     string
		code     int
		says     string
		complain string
	}{
		{"organization create --name=Acme", OK, "Acme", ""},
		{"activity", OK, "created", ""},
		{"activity list --scope=Key", OK, "TIME", ""},
		{"activity head", OK, "NUMBER", ""},
		{"activity head --json", OK, `{"number":0,"hash":"` + strings.Repeat("0", 64) + `","at":null}`, ""},
		{"admin activity verify --json", OK, `"entries":0`, ""},
		{"admin activity verify --head=5:" + hash, Refused, "entry 1 was removed", "entry 1 was removed"},
		{"admin activity verify --head=5:x", Misused, "", "NUMBER:HASH"},
		{"admin activity verify --head=0:" + hash, Misused, "", "NUMBER:HASH"},
		{"admin activity verify --head=" + hash, Misused, "", "NUMBER:HASH"},
	} {
		code, out, complaints := callIn(t, environ, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(out, c.says) || !strings.Contains(complaints, c.complain) {
			t.Errorf("%s: %d, %s%s", c.line, code, out, complaints)
		}
	}
}

// Large entries, which fill a page of the API, count as much as small ones.
func TestActivityOfLargeEntries(t *testing.T) {
	t.Parallel()
	run, o := databaseAndClient(t)
	const schema = 1 << 19 // bytes; each entry has two
	a, err := o.CreateApp(t.Context(), client.AppDraft{Name: "Large"})
	for i := range page.MaxBytes/schema + 1 {
		text := fmt.Sprintf(`["%d%s"]`, i, strings.Repeat("x", schema))
		if err == nil {
			_, err = o.UpdateApp(t.Context(), a.ID, client.AppPatch{ConfigSchema: json.RawMessage(text)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"activity --scope=Plugin --json": page.MaxBytes/schema + 2, "activity --scope=Plugin --json --limit=20 --offset=5": 20,
	} {
		out, _ := run.ok(t, strings.Fields(line)...)
		var shown []client.AuditEntry
		if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown) != want {
			t.Errorf("%s: %d entries, want %d, %v", line, len(shown), want, err)
		}
	}
}

// A stream that breaks is requested again, also over HTTP/2; a closed output ends it.
func TestBrokenStreamPasses(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("asked over %s", r.Proto)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"number":1}`+"\n"+`{"number":`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for out, want := range map[io.Writer]struct {
		last   int64
		passes bool
	}{io.Discard: {1, true}, full: {0, false}} {
		last, err := showAfter(t.Context(), c.Organization(client.Current), client.AuditFilter{}, terminal.NewOutput(out, terminal.Table, true))
		if last != want.last || err == nil || passes(err) != want.passes {
			t.Errorf("%T: %d, %v", out, last, err)
		}
	}
}

// Followed entries, too, have the most needed columns in a table, and all columns in wide.
func TestFollowedLinesAreWide(t *testing.T) {
	t.Parallel()
	number := int64(7)
	e := client.AuditEntry{Activity: "created", Scope: "Site", ItemID: "1", Number: &number, Address: "192.0.2.1", RequestID: "r-1"}
	for format, want := range map[string]string{
		"table": "-  (operator)  created  Site  1  -\n",
		"wide":  "-  (operator)  created  Site  1  -  7  -  -  192.0.2.1  r-1\n",
	} {
		var out bytes.Buffer
		if err := showLine(terminal.NewOutput(&out, terminal.Format(format), true), e); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, out.String(), err, want)
		}
	}
}

// A page of activity ends at 16 MiB, but the output has all requested entries.
func TestLargeActivityIsShownAsFarAsAsked(t *testing.T) {
	t.Parallel()
	_, o := databaseAndClient(t)
	app, err := o.CreateApp(t.Context(), client.AppDraft{Name: "Large"})
	const changes = 12
	for i := 0; i < changes && err == nil; i++ {
		schema := fmt.Sprintf(`[{"key":"%d%s"}]`, i, strings.Repeat("x", 900_000))
		_, err = o.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: json.RawMessage(schema)})
	}
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{1000: changes + 1, changes: changes, 1: 1} {
		got, err := newest(t.Context(), o, client.AuditFilter{Scope: "Plugin"}, client.Range{Limit: limit})
		if err != nil || len(got) != want {
			t.Errorf("%d of %d: %v", len(got), limit, err)
		}
	}
}

// Operators see the same activity as admins. Neither is told who made a change from another organization.
func TestActivityIsShownAlike(t *testing.T) {
	t.Parallel()
	run, o := databaseAndClient(t)
	dir := folder(t, "Shared", map[string]string{"site.ts": "export const a = 1"})
	run.each(t,
		"organization create --name=Other", "organization set Other --access-level=9", "member add --organization=Other --email=bob@x.example --level=owner",
		"app push --organization=Other "+dir, "app set --organization=Other Shared --global=true", "site create --organization=Acme --name=Shop --origins=https://x.example", "site place --organization=Acme Shop Shared",
		"app disable --organization=Other Shared --reason=leaks --yes",
	)
	page, err := o.ListAudit(t.Context(), client.AuditFilter{}, client.Range{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := o.ActivityHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []terminal.Format{terminal.Table, terminal.Wide, terminal.JSON, terminal.CSV} {
		var entries, last bytes.Buffer
		if err := terminal.Activity.All(terminal.NewOutput(&entries, format, true), page.Results); err != nil {
			t.Fatal(err)
		}
		if err := terminal.ActivityHead.One(terminal.NewOutput(&last, format, true), head); err != nil {
			t.Fatal(err)
		}
		if _, out, _ := run("activity", "--organization=Acme", "-o", string(format)); out != entries.String() {
			t.Errorf("%s; want %s", out, &entries)
		}
		if _, out, _ := run("activity", "head", "--organization=Acme", "-o", string(format)); out != last.String() {
			t.Errorf("%s; want %s", out, &last)
		}
	}
	_, out, _ := run("activity", "--organization=Acme", "--limit=1", "-o", "csv")
	if !strings.Contains(out, ",(not told),followed,Site,") {
		t.Errorf("by whom: %s", out)
	}
}
