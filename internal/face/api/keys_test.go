package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// TestKeysOnTwoServers uses two servers on one database, each with a cache of its own.
func TestKeysOnTwoServers(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		r := newRig(t, dbtest.Open(t, url))
		second := dbtest.Open(t, url)
		now := clock.Now()
		for _, d := range []*db.DB{r.db, second} {
			d.Now = func() time.Time { return now }
		}
		keys := access.NewKeys(second)
		other := r.serve(&api.API{
			Log: r.api.Log, Keys: keys, BaseURL: baseURL, Plugins: newApps(t, second),
			Invites: invite.Service{DB: second, Keys: keys, TTL: time.Hour, Cache: invite.NewCache()},
		})
		status := func(url, key string) int { return r.sendTo(url, key, "GET", apps, "").status }
		made, key := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All})
		if here, there := status(r.url, key), status(other, key); here != 200 || there != 200 {
			t.Errorf("a new key: %d here, %d there", here, there)
		}
		if err := r.keys.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		if here := status(r.url, key); here != 401 {
			t.Errorf("revoked: %d here", here)
		}
		now = now.Add(2 * time.Second)
		if there := status(other, key); there != 401 {
			t.Errorf("revoked: %d there after 2 seconds", there)
		}

		newcomer := r.join(r.other, "new@acme.example", access.Member)
		key = r.newKey(newcomer, "*")
		if here := status(r.url, key); here != 404 {
			t.Errorf("not a member: %d", here)
		}
		if _, err := r.api.Invites.AddMember(t.Context(), r.org.ID, "new@acme.example", access.Member); err != nil {
			t.Fatal(err)
		}
		if here, there := status(r.url, key), status(other, key); here != 200 || there != 200 {
			t.Errorf("a new member: %d here, %d there", here, there)
		}
		if _, err := r.orgs.RemoveMember(t.Context(), r.org.ID, "new@acme.example"); err != nil {
			t.Fatal(err)
		}
		if here := status(r.url, key); here != 404 {
			t.Errorf("removed: %d here", here)
		}
		now = now.Add(2 * time.Second)
		if there := status(other, key); there != 404 {
			t.Errorf("removed: %d there after 2 seconds", there)
		}
	})
}

func TestKeyExpires(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		_, key := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All, ExpiresIn: time.Hour})
		now = now.Add(time.Hour - time.Second)
		r.wantStatus(key, "GET", apps, "", 200) // before its time
		now = now.Add(2 * time.Second)
		r.wantStatus(key, "GET", apps, "", 401) // after its time
	})
}

func TestKeyBoundToOrganization(t *testing.T) {
	each(t, func(r *rig) {
		r.join(r.other, "owner@acme.example", access.Owner)
		_, key := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All, OrganizationID: r.other.ID})
		r.compare("its user's other organization", r.send(key, "GET", apps, ""), 404, notFound)
		for _, id := range []string{"@current", r.other.ID} {
			r.wantStatus(key, "GET", "/api/organizations/"+id+apps, "", 200)
		}
		r.wantStatus(r.key, "GET", "/api/organizations/"+r.other.ID+apps, "", 200) // a key that is not bound
		revoke := func(bound string) int {
			made, _ := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All, OrganizationID: bound})
			return r.send(key, "DELETE", fmt.Sprintf("/api/users/@me/keys/%d", made.ID), "").status
		}
		if free, here, elsewhere := revoke(""), revoke(r.other.ID), revoke(r.org.ID); free != 403 || here != 204 || elsewhere != 404 {
			r.t.Errorf("revoking one that is not bound: %d, one bound to the same organization: %d, to another: %d", free, here, elsewhere)
		}
	})
}

// The use of a key is recorded to the hour, and costs the request no write.
func TestKeyUse(t *testing.T) {
	each(t, func(r *rig) {
		now := time.Date(2030, 1, 2, 3, 45, 6, 0, time.UTC)
		r.db.Now = func() time.Time { return now }
		r.send(r.key, "GET", apps, "")
		used := func() time.Time {
			keys, err := r.keys.List(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			if at := keys[1].LastUsedAt; !at.IsZero() {
				r.t.Errorf("another key is said to be used at %s", at)
			}
			return keys[0].LastUsedAt
		}
		if at := used(); !at.IsZero() {
			r.t.Errorf("written by the request: %s", at)
		}
		if err := r.keys.FlushUse(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		hour := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
		if at := used(); !at.Equal(hour) {
			r.t.Errorf("used at %s", at)
		}
		slow := access.NewKeys(r.db) // a server that flushes an earlier use
		now = now.Add(-time.Hour)
		if _, err := slow.Identify(r.t.Context(), r.key); err != nil {
			r.t.Fatal(err)
		}
		if err := slow.FlushUse(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if at := used(); !at.Equal(hour) {
			r.t.Errorf("then at %s", at)
		}
	})
}

// Servers that flush the use of the same keys at once must not deadlock.
func TestKeyUseOnTwoServers(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		r := newRig(t, dbtest.Open(t, url))
		var servers []*access.Keys
		for range 2 {
			servers = append(servers, access.NewKeys(dbtest.Open(t, url)))
		}
		for range 50 {
			key := r.newKey(r.owner, "plugin:read")
			for _, s := range servers {
				if _, err := s.Identify(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		var wg sync.WaitGroup
		for _, s := range servers {
			wg.Go(func() {
				if err := s.FlushUse(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestSignOutEverywhere(t *testing.T) {
	each(t, func(r *rig) {
		const sessions = "/api/users/@me/sessions"
		for _, count := range []string{`{"count":1,`, `{"count":2,`} {
			if _, err := r.api.SignIn.ByKey(r.t.Context(), r.key, access.SessionDraft{}); err != nil {
				r.t.Fatal(err)
			}
			if got := r.send(r.key, "GET", sessions, ""); !strings.HasPrefix(got.body, count) {
				r.t.Errorf("%d %s", got.status, got.body)
			}
		}
		one := sessions + "/" + between(r.send(r.key, "GET", sessions, "").body, `{"id":`, `,`)
		tag := r.wantStatus(r.key, "GET", one, "", 200).header.Get("Etag")
		if other, same := r.send(r.key, "DELETE", one, "", "If-Match", `"x"`), r.send(r.key, "DELETE", one, "", "If-Match", tag); other.status != 412 || same.status != 204 {
			r.t.Errorf("If-Match with another ETag: %d, with its own: %d", other.status, same.status)
		}
		r.wantStatus(r.key, "DELETE", sessions, "", 204)
		r.want("GET", sessions, "", 200, `{"count":0,"next":null,"previous":null,"results":[]}`)
	})
}

// A user can have at most 100 unexpired keys, even with concurrent requests. The operator may make more. Making one
// removes the expired ones of that user only.
func TestKeysOfAUserAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		const keys, draft = "/api/users/@me/keys", `{"scopes":["plugin:read"]}`
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		another := r.join(r.other, "ben@other.example", access.Member).User.ID
		for _, user := range []int64{r.owner.User.ID, another} {
			if _, _, err := r.keys.Create(r.t.Context(), access.Draft{UserID: user, Scope: access.All, ExpiresIn: time.Second}); err != nil {
				r.t.Fatal(err)
			}
		}
		now = now.Add(time.Second)
		for range 95 {
			r.newKey(r.owner, "plugin:read")
		}
		statuses := make(chan int, 8)
		var asking sync.WaitGroup
		for range cap(statuses) {
			asking.Go(func() { statuses <- r.send(r.key, "POST", keys, draft).status })
		}
		asking.Wait()
		close(statuses)
		made := 0
		for status := range statuses {
			if status == 201 {
				made++
			}
		}
		if made != 4 { // besides the first key and the 95
			r.t.Errorf("%d of 8 made a key; 4 should", made)
		}
		full := validation("invalid_input", "At most 100 keys of yours may be valid at a time, and 100 are: revoke some first.", "null")
		r.compare("one too many", r.send(r.key, "POST", keys, draft), 400, full)
		r.newKey(r.owner, "plugin:read")
		more := strings.ReplaceAll(full, "and 100", "and 101")
		r.compare("after one from the operator", r.send(r.key, "POST", keys, draft), 400, more)
		r.wantStatus(r.otherKey, "POST", keys, draft, 201)
		list := r.wantStatus(r.key, "GET", keys+"?limit=4&offset=1", "", 200).body // after the first; the expired one is deleted
		for _, part := range strings.Split(list, `{"id":`)[1:3] {
			id, _, _ := strings.Cut(part, ",")
			r.wantStatus(r.key, "DELETE", keys+"/"+id, "", 204)
		}
		r.wantStatus(r.key, "POST", keys, draft, 201)
		all, err := r.keys.List(r.t.Context())
		if err != nil || !slices.ContainsFunc(all, func(key access.Key) bool { return key.UserID == another }) {
			r.t.Errorf("the expired key of another is deleted too, %v", err)
		}
	})
}
