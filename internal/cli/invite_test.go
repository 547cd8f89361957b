package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// idIn returns the first id in a JSON answer.
func idIn(answer string) string {
	_, id, _ := strings.Cut(answer, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

func TestInviteWithoutAMailServerWarns(t *testing.T) {
	t.Parallel()
	environ := dataFolder(t)
	run := databaseIn(t, environ)
	const warning = "no mail goes out"
	out, warned := run.ok(t, "invite", "create", "--email=ada@x.example", "--json")
	if !strings.Contains(warned, warning) || strings.Contains(out, warning) {
		t.Errorf("create: %q, %q", out, warned)
	}
	if _, warned := run.ok(t, "invite", "create", "--email=eve@x.example", "--no-send-email"); warned != "" {
		t.Errorf("create without mail: %q", warned)
	}
	id := idIn(out)
	if _, warned := run.ok(t, "invite", "resend", id); !strings.Contains(warned, warning) {
		t.Errorf("resend: %q", warned)
	}
	team := teamFile(t, 101)
	for _, partial := range []string{"--partial=false", "--partial"} {
		if _, warned := run.ok(t, "invite", "bulk", team, partial, "--dry-run"); strings.Count(warned, warning) != 1 {
			t.Errorf("bulk %s: %q", partial, warned)
		}
	}
	unmailed := filepath.Join(t.TempDir(), "team.json")
	if err := os.WriteFile(unmailed, []byte(`[{"target_email":"bob@x.example","send_email":false}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, warned := run.ok(t, "invite", "bulk", unmailed); warned != "" {
		t.Errorf("bulk without mail: %q", warned)
	}
	mailing := append(environ, "FOYER_SMTP=smtp+plain://127.0.0.1:1", "FOYER_MAIL_FROM=foyer@acme.example")
	if code, _, warned := callIn(t, mailing, "admin", "invite", "resend", id); code != OK || warned != "" {
		t.Errorf("resend with a mail server: %d, %q", code, warned)
	}
}

// The API, too, accepts an id in any case.
func TestInviteIDsInUpperCase(t *testing.T) {
	t.Parallel()
	run := database(t)
	out, _ := run.ok(t, "invite", "create", "--email=ada@x.example", "--json")
	id := idIn(out)
	run.ok(t, "invite", "resend", strings.ToUpper(id))
	run.ok(t, "invite", "link", strings.ToUpper(id))
	if out, _ := run.ok(t, "invite", "delete", "--yes", strings.ToUpper(id)); out != "Deleted invite "+id+".\n" {
		t.Errorf("delete: %q", out)
	}
}

// In a wide table, a long text makes its own row longer, and no other.
func TestLongTextsAreLast(t *testing.T) {
	t.Parallel()
	run, long := database(t), strings.Repeat("w", 1000)
	for i, text := range []string{long, "short"} {
		run.ok(t, "app", "create", "--name=App"+strconv.Itoa(i), "--description="+text)
		run.ok(t, "invite", "create", fmt.Sprintf("--email=p%d@x.example", i), "--message="+text)
	}
	for _, noun := range []string{"app", "invite"} {
		if out, _ := run.ok(t, noun, "list", "-o", "wide"); len(out) < len(long) || len(out) > 2*len(long) {
			t.Errorf("%s list: %d bytes", noun, len(out))
		}
	}
}

// An address that appears twice in a file is invited at most once, however far apart the two lines are.
func TestInviteBulkTwice(t *testing.T) {
	t.Parallel()
	run := database(t)
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
		code, out, complaints := run(append([]string{"invite", "bulk", file, "--json"}, args...)...)
		if code != Refused || !strings.Contains(complaints, `"code":"unique","detail":"`+file+`:103: Appears twice in the file.","attr":"target_email"`) {
			t.Errorf("exit code %d: %s", code, complaints)
		}
		return out
	}
	if made := refused(); made != "" {
		t.Errorf("some are invited: %s", made)
	}
	const each = `"target_email":`
	if made := refused("--partial"); strings.Count(made, each) != 101 {
		t.Errorf("%d of 101 are invited", strings.Count(made, each))
	}
	if listed, _ := run.ok(t, "invite", "list", "--json"); strings.Count(listed, each) != 101 {
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
	_, _, away := callIn(t, asking("http://127.0.0.1:1"), "invite", "bulk", file, "--partial")
	if want := twice + "foyer: " + file + ":2 and after: http://127.0.0.1:1 cannot be asked"; !strings.HasPrefix(away, want) {
		t.Errorf("%s; want %s", away, want)
	}
}

// If a hundred is refused as a whole, the error names the first person who is not invited, since those before are.
func TestInviteBulkTellsWhereItEnded(t *testing.T) {
	t.Parallel()
	run := database(t)
	file := teamFile(t, 250)
	code, out, complaints := run("invite", "bulk", file, "-o", "csv")
	want := noMail + "\nfoyer: " + file + ":202 and after: At most 200 invites a day for an organization: try again later.\nfoyer: try again in 2"
	if code != Refused || !strings.HasPrefix(complaints, want) {
		t.Errorf("%d, %s; want %s", code, complaints, want)
	}
	if made := strings.Count(out, "\n") - 1; made != 200 {
		t.Errorf("%d invites are shown", made)
	}
	_, _, away := callIn(t, asking("http://127.0.0.1:1"), "invite", "bulk", file)
	if want := "foyer: " + file + ":2 and after: http://127.0.0.1:1 cannot be asked"; !strings.HasPrefix(away, want) {
		t.Errorf("%s; want %s", away, want)
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
