package api_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db/dbtest"
)

// late is a body that is read only after its sender was admitted. before runs first.
type late struct {
	io.Reader
	before func()
}

func (l *late) Read(p []byte) (int, error) {
	if l.before != nil {
		l.before()
		l.before = nil
	}
	return l.Reader.Read(p)
}

// A caller does not keep a permission by delaying the body.
func TestAdmittedUntilTheBodyIsThere(t *testing.T) {
	each(t, func(r *rig) {
		var passed atomic.Int64
		now := r.db.Now()
		r.db.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
		admin := r.join(r.org, "admin@acme.example", access.Admin)
		must := func(err error) {
			if err != nil {
				r.t.Error(err)
			}
		}
		for _, c := range []struct {
			name   string
			who    org.Membership
			before func(keyID int64)
			want   int
		}{
			{"nothing", admin, func(int64) {}, 201},
			{"revoked", admin, func(id int64) { must(r.keys.Revoke(r.t.Context(), id)) }, 403},
			{"lowered", admin, func(int64) {
				_, err := r.orgs.SetLevel(r.t.Context(), r.org.ID, admin.User.Email, access.Member)
				must(err)
			}, 403},
			{"removed", admin, func(int64) {
				_, err := r.orgs.RemoveMember(r.t.Context(), r.org.ID, admin.User.Email)
				must(err)
			}, 403},
			{"the database fails", r.owner, func(int64) {
				dbtest.Exec(r.t, r.db, `ALTER TABLE memberships RENAME TO gone`)
			}, 500},
		} {
			key, secret := r.makeKey(access.Draft{UserID: c.who.User.ID, Scope: access.All})
			got := r.sendLate(secret, "POST", "/api/organizations/"+r.org.ID+"/invites/", `{"target_email":"ada@example.com","level":8}`, func() {
				c.before(key.ID)
				passed.Add(int64(3 * time.Second))
			})
			if got.status != c.want {
				r.t.Errorf("%s: %d %s", c.name, got.status, got.body)
			}
		}
	})
}

// A key that is revoked while it creates another one leaves none behind, even if the body follows at once.
func TestRevokedKeyMakesNone(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		key, secret := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All})
		got := r.sendLate(secret, "POST", "/api/users/@me/keys", `{"scopes":["*"]}`, func() {
			if err := r.keys.Revoke(r.t.Context(), key.ID); err != nil {
				r.t.Error(err)
			}
		})
		r.compare("a new key", got, 401, r.send(secret, "GET", "/api/users/@me", "").body)
	})
}

// A key that expires while a request is under way changes neither its own user nor a member, and accepts nothing.
func TestExpiredKeyChangesNobody(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		member := r.join(r.org, "member@acme.example", access.Member)
		r.verify(r.owner.User.Email)
		invited := r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+"/invites", `{"target_email":"`+r.owner.User.Email+`"}`, 201).body
		for request, body := range map[string]string{
			"PATCH /api/users/@me": `{"first_name":"Late"}`,
			"PATCH /api/organizations/" + r.org.ID + "/members/" + member.User.UUID:      `{"level":8}`,
			"POST /api/users/@me/invites/" + between(invited, `"id":"`, `"`) + "/accept": `{}`,
		} {
			method, path, _ := strings.Cut(request, " ")
			_, secret := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All, ExpiresIn: time.Hour})
			got := r.sendLate(secret, method, path, body, func() { now = now.Add(time.Hour) })
			if got.status != 403 || !strings.Contains(got.body, "Your permissions changed while the request was under way") {
				r.t.Errorf("%s: %d %s", request, got.status, got.body)
			}
		}
	})
}

// sendLate sends a body after its sender was admitted and before has run.
func (r *rig) sendLate(key, method, path, text string, before func()) answer {
	r.t.Helper()
	body := &late{Reader: strings.NewReader(text), before: before}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.ContentLength = int64(len(text))
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	waiting := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer waiting.CloseIdleConnections()
	resp, err := waiting.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, strings.TrimSuffix(string(got), "\n"), resp.Header}
}

// The error for a key without Bearer before it, or with another word, says what is missing.
func TestKeyIsABearer(t *testing.T) {
	each(t, func(r *rig) {
		want := faultBody("authentication_error", "authentication_failed", "The word before the key must be Bearer: send the header Authorization: Bearer <API_KEY>.", "null")
		for _, header := range []string{r.key, "Token " + r.key, "Basic Zm9v", "Bearer:" + r.key} {
			got := r.send("", "GET", apps, "", "Authorization", header)
			r.compare(header, got, 401, want)
			if got.header.Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
				r.t.Error(got.header)
			}
		}
		if got := r.send("", "GET", apps, "", "Authorization", "bearer "+r.key); got.status != 200 {
			r.t.Errorf("in lower case: %d", got.status)
		}
	})
}
