package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// newRunner runs commands that must succeed, on a database with an organization and its owner.
func newRunner(t *testing.T, env map[string]string) func(args ...string) (stdout, stderr string) {
	t.Helper()
	env["FOYER_DATA_DIR"] = filepath.Join(t.TempDir(), "data")
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var environ []string
		for name, value := range env {
			environ = append(environ, name+"="+value)
		}
		var out, complaints bytes.Buffer
		if code := Run(t.Context(), args, environ, strings.NewReader(""), &out, &complaints); code != OK {
			t.Fatalf("%v: exit code %d, %s", args, code, complaints.String())
		}
		return out.String(), complaints.String()
	}
	run("admin", "organization", "create", "--name=Acme")
	run("admin", "member", "add", "--email=owner@acme.example", "--level=owner")
	return run
}

// idIn returns the first id in a JSON answer.
func idIn(answer string) string {
	_, id, _ := strings.Cut(answer, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

func TestInviteWithoutAMailServerWarns(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	run := newRunner(t, env)
	const warning = "no mail goes out"
	out, warned := run("admin", "invite", "create", "--email=ada@x.example", "--json")
	if !strings.Contains(warned, warning) || strings.Contains(out, warning) {
		t.Errorf("create: %q, %q", out, warned)
	}
	if _, warned := run("admin", "invite", "create", "--email=eve@x.example", "--no-send-email"); warned != "" {
		t.Errorf("create without mail: %q", warned)
	}
	id := idIn(out)
	if _, warned := run("admin", "invite", "resend", id); !strings.Contains(warned, warning) {
		t.Errorf("resend: %q", warned)
	}
	team := teamFile(t, 101)
	for _, partial := range []string{"--partial=false", "--partial"} {
		if _, warned := run("admin", "invite", "bulk", team, partial, "--dry-run"); strings.Count(warned, warning) != 1 {
			t.Errorf("bulk %s: %q", partial, warned)
		}
	}
	unmailed := filepath.Join(t.TempDir(), "team.json")
	if err := os.WriteFile(unmailed, []byte(`[{"target_email":"bob@x.example","send_email":false}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, warned := run("admin", "invite", "bulk", unmailed); warned != "" {
		t.Errorf("bulk without mail: %q", warned)
	}
	env["FOYER_SMTP"], env["FOYER_MAIL_FROM"] = "smtp+plain://127.0.0.1:1", "foyer@acme.example"
	if _, warned := run("admin", "invite", "resend", id); warned != "" {
		t.Errorf("resend with a mail server: %q", warned)
	}
}

// The API, too, accepts an id in any case.
func TestInviteIDsInUpperCase(t *testing.T) {
	t.Parallel()
	run := newRunner(t, map[string]string{})
	out, _ := run("admin", "invite", "create", "--email=ada@x.example", "--json")
	id := idIn(out)
	run("admin", "invite", "resend", strings.ToUpper(id))
	run("admin", "invite", "link", strings.ToUpper(id))
	if out, _ := run("admin", "invite", "delete", "--yes", strings.ToUpper(id)); out != "Deleted invite "+id+".\n" {
		t.Errorf("delete: %q", out)
	}
}

// In a wide table, a long text makes its own row longer, and no other.
func TestLongTextsAreLast(t *testing.T) {
	t.Parallel()
	run, long := newRunner(t, map[string]string{}), strings.Repeat("w", 1000)
	for i, text := range []string{long, "short"} {
		run("admin", "app", "create", "--name=App"+strconv.Itoa(i), "--description="+text)
		run("admin", "invite", "create", fmt.Sprintf("--email=p%d@x.example", i), "--message="+text)
	}
	for _, noun := range []string{"app", "invite"} {
		if out, _ := run("admin", noun, "list", "-o", "wide"); len(out) < len(long) || len(out) > 2*len(long) {
			t.Errorf("%s list: %d bytes", noun, len(out))
		}
	}
}

// An address that appears twice in a file is invited at most once, however far apart the two lines are.
func TestInviteBulkTwice(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	run := newRunner(t, env)
	var table strings.Builder
	table.WriteString("target_email\n")
	for i := range 101 {
		fmt.Fprintf(&table, "p%d@x.example\n", i)
	}
	table.WriteString(" P0@X.example\n")
	file := filepath.Join(t.TempDir(), "team.csv")
	if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(args ...string) (stdout string) {
		t.Helper()
		var out, complaints bytes.Buffer
		args = append([]string{"admin", "invite", "bulk", file, "--json"}, args...)
		code := Run(t.Context(), args, []string{"FOYER_DATA_DIR=" + env["FOYER_DATA_DIR"]}, strings.NewReader(""), &out, &complaints)
		if code != Refused || !strings.Contains(complaints.String(), `"code":"unique","detail":"`+file+`:103: Appears twice in the file.","attr":"target_email"`) {
			t.Errorf("exit code %d: %s", code, complaints.String())
		}
		return out.String()
	}
	if made := refused(); made != "" {
		t.Errorf("some are invited: %s", made)
	}
	const each = `"target_email":`
	if made := refused("--partial"); strings.Count(made, each) != 101 {
		t.Errorf("%d of 101 are invited", strings.Count(made, each))
	}
	if listed, _ := run("admin", "invite", "list", "--json"); strings.Count(listed, each) != 101 {
		t.Errorf("%d of 101 are listed", strings.Count(listed, each))
	}
}

// A command finds an invite and a member by the typed address, although the server stores its domain in ASCII.
func TestAddressesAreNamedAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	run, o := databaseAndClient(t)
	for _, args := range [][]string{
		{"invite", "create", "--email=Ada@München.example"},
		{"invite", "link", "Ada@München.example"},
		{"invite", "delete", "ada@münchen.example", "--yes"},
		{"member", "add", "--email=eve@münchen.example", "--level=member"},
	} {
		if code, _, complaints := run(args...); code != OK {
			t.Errorf("%v: %d, %s", args, code, complaints)
		}
	}
	if m, err := (aMember{"Eve@MÜNCHEN.example"}).find(t.Context(), o); err != nil || m.User.Email != "eve@xn--mnchen-3ya.example" {
		t.Errorf("%s, %v", m.User.Email, err)
	}
}

// teamFile writes a table of invites with these addresses, and n more.
func teamFile(t *testing.T, n int, addresses ...string) string {
	t.Helper()
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("p%d@x.example", i))
	}
	file := filepath.Join(t.TempDir(), "team.csv")
	if err := os.WriteFile(file, []byte("target_email\n"+strings.Join(addresses, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// If a request fails, the error lists it with the refused invites, and names the first person who is not invited.
func TestInviteBulkPartlyTellsThatItFailed(t *testing.T) {
	t.Parallel()
	run := database(t)
	file := teamFile(t, 250, "a@x.example", "A@x.example")
	twice := "foyer: " + file + ":3: target_email: Appears twice in the file.\n"
	code, out, complaints := run("invite", "bulk", file, "--partial", "-o", "csv")
	if want := noMail + "\n" + twice + "foyer: " + file + ":203 and after: At most 200 invites a day"; code != Refused || !strings.HasPrefix(complaints, want) {
		t.Errorf("%d, %s; want %s", code, complaints, want)
	}
	if made := strings.Count(out, "\n") - 1; made != 200 {
		t.Errorf("%d invites are shown", made)
	}
	code, _, complaints = run("invite", "bulk", file, "--partial", "--json")
	if want := `"detail":"` + file + `:2 and after: At most 200 invites a day`; code != Refused || !strings.Contains(complaints, want) {
		t.Errorf("%d, %s; want %s", code, complaints, want)
	}
	var away bytes.Buffer
	Run(t.Context(), []string{"invite", "bulk", file, "--partial"}, []string{"FOYER_URL=http://127.0.0.1:1", "FOYER_KEY=x"}, strings.NewReader(""), io.Discard, &away)
	if want := twice + "foyer: " + file + ":2 and after: http://127.0.0.1:1 cannot be asked"; !strings.HasPrefix(away.String(), want) {
		t.Errorf("%s; want %s", away.String(), want)
	}
}

// The error of a list entry without an address names the entry's index.
func TestInviteBulkTellsWhoHasNoAddress(t *testing.T) {
	t.Parallel()
	run := database(t)
	file := filepath.Join(t.TempDir(), "team.json")
	team := `[{"target_email":"a@x.example"},{"target_email":"A@x.example"},{"first_name":"Bob"},{"target_email":" "},{"target_email":"eve"}]`
	if err := os.WriteFile(file, []byte(team), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, complaints := run("invite", "bulk", file, "--partial")
	for _, who := range []string{"A@x.example: target_email: Appears twice", file + "[2]: target_email: ", file + "[3]: target_email: ", "eve: target_email: "} {
		if code != Refused || !strings.Contains(complaints, "foyer: "+who) {
			t.Errorf("%d, %s; want %s", code, complaints, who)
		}
	}
}

// A file is JSON in any spelling of its extension.
func TestInviteBulkReadsJSONInUpperCase(t *testing.T) {
	t.Parallel()
	run := database(t)
	file := filepath.Join(t.TempDir(), "TEAM.JSON")
	if err := os.WriteFile(file, []byte(`[{"target_email":"new@x.example"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, complaints := run("invite", "bulk", file); code != OK || !strings.Contains(out, "new@x.example") {
		t.Errorf("%d, %s%s", code, out, complaints)
	}
}
