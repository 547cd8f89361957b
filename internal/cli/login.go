package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"

	"foyer/client"
	"foyer/internal/cli/profile"
	"foyer/internal/cli/terminal"
)

type loginCommand struct {
	URL          string `arg:"" help:"The server, like https://foyer.example.com."`
	Key          string `placeholder:"KEY" help:"A key; - reads it from standard input. Without it, you make one in the browser."`
	Profile      string `default:"default" placeholder:"NAME" help:"The name to keep it under, if not default."`
	Organization string `placeholder:"ID" help:"The organization to work on, by id or name, if not that of the key."`
}

func (loginCommand) Help() string {
	return `Without --key, a page of the server opens in the browser, on which you make a key; it is asked for here then, and not shown.
The key is tried, and kept in the folder of your settings, in a file that nobody else can read.

Examples:

    foyer login https://foyer.example.com
    foyer login https://staging.example.com --profile=staging --key=- <key.txt
`
}

func (c loginCommand) Run(ctx context.Context, kept profile.File, out *terminal.Output, in terminal.Input, to terminal.Log, before beforeProfile) error {
	if _, err := client.New(c.URL, ""); err != nil { // before it asks for a key
		return terminal.Misused(err)
	}
	key, err := c.key(ctx, in, to)
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("no key was given")
	}
	at, err := client.New(c.URL, key, client.WithUserAgent("foyer/"+Version()))
	if err != nil {
		return terminal.Misused(err)
	}
	if warning := unsafe(c.URL); warning != "" {
		fmt.Fprintln(to, "foyer: warning:", warning)
	}
	user, err := c.user(ctx, at)
	if err != nil {
		return err
	}
	p := profile.Profile{URL: strings.TrimRight(c.URL, "/"), Key: key}
	if c.Organization != "" {
		if p.Organization, err = organizationID(ctx, at, c.Organization); err != nil {
			return err
		}
	}
	if err := kept.Put(c.Profile, p); err != nil {
		return err
	}
	answer := map[string]string{"profile": c.Profile, "url": p.URL, "email": user.Email, "file": string(kept)}
	which, others := "Commands", ""
	if c.Profile != profile.Default || before != "" {
		which = "Commands with --profile=" + c.Profile
	}
	if before != "" {
		others = fmt.Sprintf(" Without --profile, %s counts.", before)
	}
	return out.Say(answer, "%s now work on %s as %s. The key is in %s.%s", terminal.Printable(which), p.URL, terminal.Printable(user.Email), kept, others)
}

// user returns the key's user.
func (c loginCommand) user(ctx context.Context, at *client.Client) (client.User, error) {
	user, err := at.Self(ctx)
	if err == nil && user.UUID == "" || client.IsNotFound(err) { // for example below /api of another server
		err = errors.New("the server does not answer as a foyer server")
	}
	if err != nil {
		return user, fmt.Errorf("%s: %w", c.URL, err)
	}
	return user, nil
}

func (c loginCommand) key(ctx context.Context, in terminal.Input, to terminal.Log) (string, error) {
	if c.Key != "" {
		key, err := in.Or(c.Key)
		return strings.TrimSpace(key), err
	}
	page := strings.TrimRight(c.URL, "/") + "/console/keys"
	fmt.Fprintf(to, "Make a key on this page, and copy it here: %s\n", page)
	browse(ctx, page)
	return in.Secret("Key: ")
}

// unsafe returns why a key should not be sent to a server.
func unsafe(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return ""
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return ""
	}
	return "whoever is on the way to " + u.Host + " can read the key, as it is not https"
}

// browse opens a page, if there is a browser. The caller has shown its address already.
func browse(ctx context.Context, page string) {
	program, args := "xdg-open", []string{page}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", page}
	}
	if browser := exec.CommandContext(ctx, program, args...); browser.Start() == nil {
		go func() { _ = browser.Wait() }()
	}
}

type logoutCommand struct {
	Profile string `default:"default" placeholder:"NAME" help:"The name it is kept under, if not default."`
}

// Run forgets a server and its key. The key stays valid.
func (c logoutCommand) Run(kept profile.File, out *terminal.Output) error {
	p, err := kept.Remove(c.Profile)
	if err != nil {
		return terminal.Misused(err)
	}
	return out.Say(map[string]string{"profile": c.Profile, "url": p.URL},
		"Forgot the key for %s. It is still valid: anybody who has it can use it until it is revoked.", p.URL)
}
