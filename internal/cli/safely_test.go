package cli

import (
	"strings"
	"testing"
)

// An unset variable must not stand for all origins, all pages or all addresses.
func TestEmptyListsAreRefused(t *testing.T) {
	t.Parallel()
	run := database(t)
	run.each(t, "site create --name=Shop --origins=https://shop.example", "app create --name=Banner")
	for _, line := range []string{"site create --name=Other --origins=", "site place Shop Banner --paths="} {
		if code, _, complaints := run(strings.Fields(line)...); code != Misused || !strings.HasSuffix(complaints, ": must not be empty\n") {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
	for _, domains := range []string{",", "x.example,,y.example"} {
		code, _, complaints := run("organization", "set", "Acme", "--allowed-domains="+domains)
		if code != Refused || complaints != "foyer: allowed_domains: \"\" is not a domain like example.com.\n" {
			t.Errorf("%s: %d, %s", domains, code, complaints)
		}
	}
	run.each(t,
		"site place Shop Banner --paths=/a", "site change Shop Banner --paths=", "site set Shop --origins=", "organization set Acme --allowed-domains=",
	)
}

// The error of a preview says whether the app or the site is missing; the app need not be on the site.
func TestPreviewOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	run := database(t)
	run.each(t, "site create --name=Shop", "app create --name=Banner")
	for line, want := range map[string]string{
		"site preview Shop 99 --page=https://x.example/":   "There is no app 99 in this organization.",
		"site preview 99 Banner --page=https://x.example/": "There is no site 99 in this organization.",
	} {
		if code, _, complaints := run(strings.Fields(line)...); code != Refused || complaints != "foyer: "+want+"\n" {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}

// A command that stops apps on pages asks first, and is refused if it cannot ask.
func TestWhatStopsAppsIsAsked(t *testing.T) {
	t.Parallel()
	run := database(t)
	run.each(t, "organization set Acme --access-level=9", "app create --name=Banner --global")
	for line, question := range map[string]string{
		"app set Banner --global=false":          "Stop app Banner on the sites of other organizations?",
		"organization set Acme --access-level=0": "Stop all apps on the sites of organization Acme?",
	} {
		if code, _, complaints := run(strings.Fields(line)...); code != Misused || !strings.HasPrefix(complaints, "foyer: "+question) {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
	run.each(t, "app set Banner --global=false --yes", "app set Banner --global=true", "organization set Acme --access-level=3", "organization set Acme --access-level=0 --yes")
}

// An argument from an unset variable names nothing.
func TestEmptyArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"app", "source", "Banner", ""},
		{"app", "delete", "", "--yes"},
		{"app", "push", ""},
		{"invite", "bulk", ""},
		{"webhook", "create", "", "--events=app.*"},
		{"login", "", "--key=-"},
	} {
		if code, _, complaints := call(t, args...); code != Misused || !strings.HasSuffix(complaints, ">: must not be empty\n") {
			t.Errorf("%q: %d, %s", args, code, complaints)
		}
	}
}

// 0 is not a valid number, and must not stand for all, the newest or the current one; nor must an empty line stand for no url.
func TestNothingIsNotAll(t *testing.T) {
	t.Parallel()
	run := database(t)
	for line, want := range map[string]string{
		"app diff App 0":                          "<version>: must not be 0",
		"app diff App --against=0":                "--against: must not be 0",
		"app withdraw App 1 --reason=x --go-to=0": "--go-to: must not be 0",
		"site preview Shop App --pin=0":           "--pin: must not be 0",
	} {
		if code, _, complaints := run(strings.Fields(line)...); code != Misused || complaints != "foyer: "+want+"\n" {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
	if code, _, complaints := run("app", "create", "--name=NoUrl", "--url=-"); code != Refused || complaints != "foyer: the line read from standard input is empty\n" {
		t.Errorf("%d, %s", code, complaints)
	}
	for _, line := range []string{"user sign-out 0 --yes", "app push . --app=0"} {
		if code, _, complaints := call(t, append(strings.Fields(line), "--url=http://127.0.0.1:1")...); code != Misused || !strings.HasSuffix(complaints, ": must not be 0\n") {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}

// A list must not be cut off without a note or a way to see the rest.
func TestLimitIsOfOnePage(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"0", "-1", "1001"} {
		code, _, complaints := call(t, "webhook", "deliveries", "1", "--limit="+n, "--url=http://127.0.0.1:1")
		if code != Misused || !strings.HasSuffix(complaints, "--limit must be a whole number from 1 to 1000\n") {
			t.Errorf("%s: %d, %s", n, code, complaints)
		}
	}
}

// The list of all sessions has no ETag: with the flag, none of them would end.
func TestETagIsOfOneSession(t *testing.T) {
	t.Parallel()
	code, _, complaints := call(t, "user", "sign-out", "--yes", `--if-match="x"`, "--url=http://127.0.0.1:1")
	if code != Misused || !strings.HasSuffix(complaints, "--if-match: give the id of a session\n") {
		t.Errorf("%d, %s", code, complaints)
	}
}

// A dropped flag must not look as if it had been set.
func TestSetWantsASetting(t *testing.T) {
	t.Parallel()
	const want = "foyer: give at least one setting to change\n"
	run := database(t)
	for _, line := range []string{"app set Banner", "site set Shop", "site change Shop Banner"} {
		if code, _, complaints := run(strings.Fields(line)...); code != Misused || complaints != want {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
	for _, line := range []string{"user set", "organization set", "webhook set 1"} {
		if code, _, complaints := callIn(t, asking("http://127.0.0.1:1"), strings.Fields(line)...); code != Misused || complaints != want {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}

// An app without a repository of its own is not set at all, rather than without its repository.
func TestSetGivesARepositoryOnlyToCustomApps(t *testing.T) {
	t.Parallel()
	run := database(t)
	run.each(t, "app create --name=Here")
	code, _, complaints := run("app", "set", "Here", "--from=https://git.example/a.git", "--name=There")
	if code != Refused || complaints != "foyer: --from is for an app of type custom; app Here is of type local.\n" {
		t.Errorf("%d, %s", code, complaints)
	}
	run.each(t, "app get Here")
}
