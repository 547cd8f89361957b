package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"foyer/client"
	"foyer/internal/cli/terminal"
	"foyer/internal/config"
)

// Conditions on a change. A command has the flags that its operation takes, and refuses the others.

// ifMatch has the flag of commands that change an object which others may have changed meanwhile.
type ifMatch struct {
	IfMatch string `placeholder:"ETAG" help:"Do it only if the object still has this ETag. The API answers it with the object; commands that have --etag show it."`
}

// idempotent has the flag of commands that may be repeated.
type idempotent struct {
	IdempotencyKey string `placeholder:"KEY" help:"Do it once, however often this is run with the same key within 24 hours."`
}

// dryRun has the flag of commands with a dry run.
type dryRun struct {
	DryRun bool `help:"Make all checks and show what the result would be, but change nothing."`
}

// checkGiven refuses a flag or argument with an empty text or list, as from an unset variable: it would stand for everything, or
// for another place. It also refuses the number 0. It leaves out required flags, which their command checks, clearable ones, which
// are pointers, and the server's settings, where empty means unset.
func checkGiven(c *kong.Context) error {
	for _, p := range c.Path {
		switch f := p.Flag; {
		case p.Positional != nil && isEmpty(p.Positional.Target):
			return fmt.Errorf("<%s>: must not be empty", p.Positional.Name)
		case p.Positional != nil && isZero(p.Positional.Target):
			return fmt.Errorf("<%s>: must not be 0", p.Positional.Name)
		case f == nil || f.Required || isSetting(f.Name):
		case isEmpty(f.Target):
			return notEmpty(f.Name)
		case isZero(f.Target):
			return fmt.Errorf("--%s: must not be 0", f.Name)
		}
	}
	return nil
}

func isEmpty(value reflect.Value) bool {
	return (value.Kind() == reflect.String || value.Kind() == reflect.Slice) && value.Len() == 0
}

func isZero(value reflect.Value) bool { return value.Kind() == reflect.Int64 && value.IsZero() }

func notEmpty(flag string) error { return fmt.Errorf("--%s: must not be empty", flag) }

func isSetting(flag string) bool {
	return slices.ContainsFunc(config.Settings, func(s config.Setting) bool { return s.Flag() == flag })
}

// checkSets refuses a patch that would change nothing, as when an unset variable has dropped a flag.
func checkSets(patch any) error {
	if reflect.ValueOf(patch).IsZero() {
		return terminal.Misused(errors.New("give at least one setting to change"))
	}
	return nil
}

// given returns a list to set: an empty one is not nil.
func given(list *[]string) []string {
	if list == nil {
		return nil
	}
	return append([]string{}, *list...)
}

// callOptions returns the options of a change that flags ask for.
func callOptions(flags map[string]string) (all []client.CallOption) {
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

// etag has the flag of commands that show one object.
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
