package e2e

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/client"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
)

var screenshots = flag.String("screenshots", "", "write what the browser shows into this folder, to look at it")

// browser is a headless Chromium, with the time limit of a test with one on a busy machine.
func browser(t *testing.T) context.Context { return browserFor(t, 5*time.Minute) }

func browserFor(t *testing.T, long time.Duration, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(420, 900), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-component-update", true))
	if shell, err := exec.LookPath("chromium-headless-shell"); err == nil { // takes a third less CPU time than Chromium
		options = append(options, chromedp.ExecPath(shell))
	}
	options = append(options, flags...)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, long)
	t.Cleanup(cancel)
	return ctx
}

// signIn signs a browser in with a key, at the size of a desk.
func (i *instance) signIn(ctx context.Context, key string) {
	i.Helper()
	look(ctx, i.T, "sign-in", "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, i.T, "signed-in", "My organization", fill("key", key), press("Sign in"))
}

// look waits for a heading and returns all that the page shows.
func look(ctx context.Context, t *testing.T, name, heading string, before ...step) string {
	t.Helper()
	err := chromedp.Do(ctx, append(before, chromedp.WaitVisible(`//h1[contains(., "`+heading+`")]`))...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("main")))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if *screenshots != "" {
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, os.WriteFile(filepath.Join(*screenshots, name+".png"), picture, 0o600))
	}
	return text
}

type step = chromedp.Action[chromedp.Void]

func click(answer string) step {
	return leave(chromedp.Click(chromedp.CSS(`button[value="` + answer + `"]`)))
}

// leave waits for the page that a step leads to: an element that a test waits for may already be on the page before, and
// disappear with it.
func leave(s step) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, s)
		return err
	})
}

// A long message of a mail server about one invite does not squeeze the others: no address wraps.
func TestInvitesInABrowser(t *testing.T) {
	t.Parallel()
	smtp := mailtest.Start(t, mailtest.Config{})
	smtp.Script(mailtest.RefuseRecipient(550, "5.1.1 <later.x@example.com>: Recipient address rejected: User unknown in local recipient table"))
	s := newSettings(t, "sqlite", smtp.URL())
	s["LISTEN"] = dbtest.FreeAddress(t)
	s["BASE_URL"], s["MAIL_FROM"] = "http://"+s["LISTEN"], "foyer@acme.example"
	i := launch(t, s)
	key := s["BOOTSTRAP_KEY"]
	i.call(key, "POST", "/invites", `{"target_email":"later.x@example.com"}`, 201)
	i.call(key, "POST", "/invites", `{"target_email":"later.y@example.com","send_email":false}`, 201)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && !strings.Contains(i.call(key, "GET", "/invites?delivery=failed", "", 200), "later.x"); pause() {
	}
	ctx := browser(t)
	i.signIn(ctx, key)
	if shown := look(ctx, t, "refused", "Invites", to(i.url+"/console/@current/invites")); !strings.Contains(shown, "User unknown") {
		t.Error(shown)
	}
	broken, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[scope=row] bdi")].filter((e) => e.getClientRects().length > 1).map((e) => e.innerText)`))
	if err != nil || len(broken) > 0 {
		t.Errorf("broken: %q, %v", broken, err)
	}
}

// Relative times name no wrong day: in 47 hours is not tomorrow.
func TestTimesInABrowser(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
	check(t, err)
	if _, err := c.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"plugin:read"}, ExpiresAt: new(time.Now().Add(47 * time.Hour))}); err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	i.signIn(ctx, s["BOOTSTRAP_KEY"])
	if shown := look(ctx, t, "times", "Your keys", to(i.url+"/console/keys")); !strings.Contains(shown, "in 1 day") {
		t.Error(shown)
	}
}

func TestInvitationInABrowser(t *testing.T) {
	t.Parallel()
	smtp := mailtest.Start(t, mailtest.Config{})
	s := newSettings(t, "sqlite", smtp.URL())
	i := launch(t, s)
	ctx := browser(t)
	mails, by := 0, s["BOOTSTRAP_KEY"]
	invited := func(draft string) string {
		t.Helper()
		i.call(by, "POST", "/invites", draft, 201)
		mails++
		all, err := smtp.Wait(t.Context(), mails)
		check(t, err)
		return i.url + regexp.MustCompile(`/invite/[\w-]{64}`).FindString(all[mails-1].Text(t))
	}

	link := invited(`{"target_email":"ada@x.example","first_name":"Ada","level":"admin","message":"Welcome! We start on Monday.\n<b>Bring tea</b>: https://evil.example"}`)
	shown := look(ctx, t, "invitation", "Join", chromedp.Navigate(link))
	for _, want := range []string{"ada@x.example", "grace@acme.example", "<b>Bring tea</b>", "https[:]//evil[.]example", "admin"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the invitation does not show %q:\n%s", want, shown)
		}
	}
	shown = look(ctx, t, "faults", "Join", chromedp.SetValue(chromedp.CSS("#last_name"), "www.evil.example"), click("accept"), chromedp.WaitVisible(chromedp.CSS(".alert")))
	if !strings.Contains(shown, "Must be a name") {
		t.Errorf("no word on what was wrong:\n%s", shown)
	}
	shown = look(ctx, t, "accepted", "Welcome", chromedp.SetValue(chromedp.CSS("#last_name"), "Lovelace"), click("accept"))
	if strings.Contains(shown, "foy_") {
		t.Errorf("a key is made for somebody who has another way in:\n%s", shown)
	}
	shown = look(ctx, t, "signed-in", "My organization", follow("Go to My organization"))
	if !strings.Contains(shown, "Members") {
		t.Errorf("not signed in as the new member:\n%s", shown)
	}
	shown = look(ctx, t, "first-key", "Your new key", chromedp.Navigate(i.url+"/console/keys"), chromedp.Click(chromedp.CSS(`input[value="*"]`)), press("Create the key"))
	key := regexp.MustCompile(`foy_\w{43}`).FindString(shown)
	if members := i.call(key, "GET", "/members", "", 200); !strings.Contains(members, `"first_name":"Ada","last_name":"Lovelace","email":"ada@x.example","is_email_verified":true`) {
		t.Errorf("not a member: %s", members)
	}
	look(ctx, t, "used", "This link does not work", chromedp.Navigate(link))

	look(ctx, t, "declined", "You have not joined", chromedp.Navigate(invited(`{"target_email":"eve@x.example"}`)), click("decline"))

	withdrawn := invited(`{"target_email":"hold@x.example"}`)
	i.call(s["BOOTSTRAP_KEY"], "PATCH", "/members/"+uuidOf(i.call(key, "GET", "/members", "", 200), "ada"), `{"level":"owner"}`, 200)
	i.call(key, "DELETE", "/members/"+uuidOf(i.call(key, "GET", "/members", "", 200), "grace"), "", 204)
	look(ctx, t, "withdrawn", "cannot be accepted", chromedp.Navigate(withdrawn))
	if said := i.said(); strings.Contains(said, filepath.Base(link)) || !strings.Contains(said, "/invite/{token}") {
		t.Error("the log has a token, or no line at all for the page")
	}

	by = key
	late := invited(`{"target_email":"late@x.example"}`)
	check(t, execute("", s["DATA_DIR"], `UPDATE invites SET expires_at = created_at`))
	shown = look(ctx, t, "expired", "has expired", chromedp.Navigate(late))
	if !strings.Contains(shown, "ada@x.example") {
		t.Errorf("does not say whom to ask:\n%s", shown)
	}
}

// uuidOf returns the id of the member whose address starts with name.
func uuidOf(members, name string) string {
	return regexp.MustCompile(`\{"id":"([0-9a-f-]{36})","user":\{[^{}]*"email":"` + name).FindStringSubmatch(members)[1]
}
