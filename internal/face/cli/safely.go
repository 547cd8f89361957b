package cli

import (
	"errors"

	"foyer/client"
	"foyer/internal/face/cli/terminal"
)

// What a command asks of its change. It has the flags that its operation takes, and refuses the others.

// ifMatch is of commands that change an object which others may have changed meanwhile.
type ifMatch struct {
	IfMatch givenText `placeholder:"ETAG" help:"Do it only if the object is still as this ETag names it; --etag of the get command shows it."`
}

// once is of commands that may be run again.
type once struct {
	IdempotencyKey givenText `placeholder:"KEY" help:"Do it once, however often this is run with the same key within 24 hours."`
}

// dryRun is of commands whose change can be tried.
type dryRun struct {
	DryRun bool `help:"Make all checks and show what would come of it, but change nothing."`
}

// givenText is a text that must not be empty: that of a variable which is not set would ask for nothing.
type givenText string

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *givenText) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("must not be empty")
	}
	*t = givenText(text)
	return nil
}

// asks is what flags ask of a change.
func asks(flags map[string]string) (all []client.Ask) {
	if etag := flags["if-match"]; etag != "" {
		all = append(all, client.IfMatch(etag))
	}
	if key := flags["idempotency-key"]; key != "" {
		all = append(all, client.IdempotencyKey(key))
	}
	if flags["dry-run"] != "" {
		all = append(all, client.DryRun())
	}
	return all
}

// etag is of commands that show one object.
type etag struct {
	ETag bool `name:"etag" help:"Show its ETag instead, for --if-match."`
}

// one shows an object that was read, or its ETag.
func one[T any](out *terminal.Output, v terminal.View[T], item T, e etag, tag string) error {
	if e.ETag {
		return out.Say(map[string]string{"etag": tag}, "%s", tag)
	}
	return v.One(out, item)
}
