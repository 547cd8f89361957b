package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/internal/domain/access"
)

// What a key leads to by whatever it can make, and by what that can make, goes no further
// than its own scopes and what a plain member may do.
func TestKeyLeadsToNoMoreThanItsScopes(t *testing.T) { //nolint:tparallel // each runs them in parallel
	const rounds = 4
	for _, scope := range []string{"plugin:read", "plugin:write", "organization_member:read", "organization_member:write"} {
		t.Run(scope, func(t *testing.T) {
			each(t, func(r *rig) {
				plain := r.join(r.org, "plain@acme.example", access.Member)
				high := between(r.wantStatus(r.key, "POST", invites, `{"target_email":"boss@x.example","level":15}`, 201).body, `"id":"`, `"`)
				reach := climb{rig: r, plain: plain.User.UUID, high: high, keys: []string{r.newKey(r.owner, scope)}}
				for range rounds {
					for _, key := range slices.Clone(reach.keys) {
						reach.tryAll(key)
					}
				}
				allowed, _ := access.ParseScopes([]string{scope, "plugin:read", "organization_member:write"})
				for _, key := range reach.keys {
					id, err := r.api.Keys.Identify(r.t.Context(), key)
					if err != nil || !allowed.Includes(id.Scope) {
						r.t.Fatalf("a key with %s leads to one with %s, %v", scope, id.Scope, err)
					}
				}
				if members := r.wantStatus(r.key, "GET", "/members?limit=1000", "", 200).body; strings.Count(members, `"level":8,`)+strings.Count(members, `"level":15,`) != 1 {
					r.t.Errorf("there is another admin or owner: %s", members)
				}
			})
		})
	}
}

// climb is somebody who tries to get more out of a key than it has.
type climb struct {
	*rig
	plain string // a member
	high  string // an invite for an owner
	keys  []string
	tries int
}

func (c *climb) tryAll(key string) {
	c.tries++
	for _, scope := range []string{"*", "plugin:write", "organization_member:write", "plugin:read"} {
		c.take(c.send(key, "POST", "/api/users/@me/keys", `{"scopes":["`+scope+`"]}`).body)
	}
	for _, level := range []string{"15", "8", "1"} {
		c.send(key, "PATCH", "/members/"+c.plain, `{"level":`+level+`}`)
		email := fmt.Sprintf("new%d-%s@x.example", c.tries, level)
		made := c.send(key, "POST", invites, `{"target_email":"`+email+`","level":`+level+`}`).body
		c.accept(key, between(made, `"id":"`, `"`))
		made = c.send(key, "POST", invites+"bulk", `[{"target_email":"b`+email+`","level":`+level+`}]`).body
		c.accept(key, between(made, `"id":"`, `"`))
	}
	c.send(key, "POST", invites+c.high+"/resend", "")
	c.accept(key, c.high)
}

// accept reads the link of an invite, and accepts it.
func (c *climb) accept(key, invite string) {
	link := between(c.send(key, "POST", invites+invite+"/link", "").body, `"url":"`, `"`)
	if _, token, ok := strings.Cut(link, "/invite/"); ok {
		c.take(c.send("", "POST", "/api/signup/"+token, `{}`).body)
	}
}

// take adds the key that an answer holds.
func (c *climb) take(body string) {
	for _, name := range []string{`"key":"`, `"api_key":"`} {
		if key := between(body, name, `"`); strings.HasPrefix(key, "foy_") {
			c.keys = append(c.keys, key)
		}
	}
}
