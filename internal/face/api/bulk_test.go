package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
)

// outcomes returns the outcomes of the items of a partial request: addresses and codes.
func (r *rig) outcomes(got answer) string {
	r.t.Helper()
	if got.status != 200 {
		r.t.Errorf("%d %s", got.status, got.body)
	}
	var items []struct {
		Invite struct {
			Email string `json:"target_email"`
		} `json:"invite"`
		Error struct {
			Code   string           `json:"code"`
			Attr   string           `json:"attr"`
			Errors []map[string]any `json:"errors"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.body), &items); err != nil {
		r.t.Fatal(err, got.body)
	}
	var all []string
	for _, item := range items {
		if item.Error.Code != "" && len(item.Error.Errors) == 0 {
			r.t.Errorf("an error of another shape: %s", got.body)
		}
		all = append(all, strings.TrimSpace(item.Invite.Email+" "+item.Error.Code+" "+item.Error.Attr))
	}
	return strings.Join(all, ", ")
}

// A partial request makes the valid invites, in its order, and returns an error for each of the others.
func TestPartialBulk(t *testing.T) {
	each(t, func(r *rig) {
		partial := invites + "bulk?partial=true"
		body := `[{"target_email":"a@x.example","level":8},{"target_email":"owner@acme.example"},{"target_email":"x"},5,{"target_email":"A@x.example"},
			{"target_email":"b@x.example","level":7},{"target_email":"c@x.example"}]`
		const want = "a@x.example, already_member target_email, invalid_input target_email, invalid_input, unique target_email, invalid_choice level, c@x.example"
		before := r.rows()
		dry := r.send(r.key, "POST", partial+"&dry_run=true", body)
		if got := r.outcomes(dry); got != want || r.rows() != before || dry.header.Get("Dry-Run") != "true" || !strings.Contains(dry.body, `{"invite":{"id":"00000000-`) {
			r.t.Errorf("dry: %s, %s", got, dry.body)
		}
		first := r.once("partial", "POST", partial, body)
		if got := r.outcomes(first); got != want {
			r.t.Error(got)
		}
		again := r.once("partial", "POST", partial, body)
		if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
			r.t.Errorf("again: %s", again.body)
		}
		r.wantCount(r.key, invites, 2)
		r.compare("nobody", r.send(r.key, "POST", partial, `[]`), 200, `[]`)
		if got := r.outcomes(r.send(r.key, "POST", partial, `{"target_email":"d@x.example"}`)); got != "d@x.example" {
			r.t.Error("an object:", got)
		}
		if got := r.send(r.key, "POST", invites+"bulk?partial=yes", `[]`, "Content-Type", "text/plain"); got.status != 415 {
			r.t.Error(got.status, got.body)
		}
		r.want("POST", invites+"bulk?partial=yes", `[]`, 400, validation("invalid_input", "Must be true, or left out.", "partial"))
	})
}

// A forbidden invite fails alone: one above the caller's level, or one that would replace somebody else's. So does a
// mail over the address's quota.
func TestPartialBulkRefuses(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.Invites.Mails = true
		limited.Invites.Limits = invite.Limits{Invites: 8, Mails: 1}
		now := time.Now().UTC()
		r.db.Now = func() time.Time { return now }
		url := r.serve(&limited)
		r.invite("theirs@x.example")
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		send := func(body string) answer { return r.sendTo(url, member, "POST", invites+"bulk?partial=true", body) }
		if got := r.outcomes(send(`[{"target_email":"a@x.example"}]`)); got != "a@x.example" {
			r.t.Error(got)
		}
		got := r.outcomes(send(`[{"target_email":"theirs@x.example"},{"target_email":"b@x.example"},{"target_email":"c@x.example","level":8},{"target_email":"a@x.example"}]`))
		if got != "permission_denied, b@x.example, permission_denied, quota_exceeded" {
			r.t.Error(got)
		}
		twice := `[{"target_email":"t@x.example","level":15},{"target_email":"t@x.example","level":7},{"target_email":"T@x.example"},{"target_email":"t@x.example"}]`
		if got := r.outcomes(send(twice)); got != "permission_denied, invalid_choice level, t@x.example, unique target_email" {
			r.t.Error("an address whose first two invites are refused:", got)
		}
		if got := send(`[` + strings.Repeat(`{"target_email":"no"},`, 20) + `{"target_email":"c@x.example"}]`); got.status != 200 {
			r.t.Errorf("what is wrong counts: %s", got.body)
		}
		many := make([]string, 6)
		for i := range many {
			many[i] = `{"target_email":"` + strings.Repeat("m", i+1) + `@x.example"}`
		}
		if got := send(`[` + strings.Join(many, ",") + `]`); got.status != 429 || got.header.Get("Retry-After") == "" {
			r.t.Errorf("more than a day allows: %d %s", got.status, got.body)
		}
		for range 2 { // they would exceed the quota if they counted
			if got := r.sendTo(url, member, "POST", invites+"bulk?partial=true&dry_run=true", `[`+strings.Join(many[:4], ",")+`]`); got.status != 200 {
				r.t.Errorf("a dry run counts: %d %s", got.status, got.body)
			}
		}
		if got := r.sendTo(url, member, "POST", invites+"bulk?dry_run=true", `[`+strings.Join(many, ",")+`]`); got.status != 429 {
			r.t.Errorf("a dry run of more than a day allows: %d %s", got.status, got.body)
		}
	})
}

func TestBulkOfATable(t *testing.T) {
	each(t, func(r *rig) {
		table := func(path, body string) answer {
			return r.send(r.key, "POST", invites+path, body, "Content-Type", "text/csv; charset=utf-8", "Prefer", "handling=strict")
		}
		made := table("bulk", "\ufefflevel,target_email,message,first_name\r\nadmin,a@x.example,\"Hi,\nAda\",Ada\r\n,b@x.example,,\r\n")
		items := strings.Split(made.body, `},{"id"`)
		if made.status != 200 || len(items) != 2 || !strings.Contains(items[0], `"first_name":"Ada"`) || !strings.Contains(items[0], `"level":8`) ||
			!strings.Contains(items[0], `"message":"Hi,\nAda"`) || !strings.Contains(items[1], `"level":1`) || !strings.HasPrefix(made.body, "[") {
			r.t.Errorf("%d %s", made.status, made.body)
		}
		if got := r.outcomes(table("bulk?partial=true", "target_email\nc@x.example\nowner@acme.example\n")); got != "c@x.example, already_member target_email" {
			r.t.Error(got)
		}
		r.compare("item", table("bulk", "target_email,level\nd@x.example,\ne@x.example,7\n"), 400,
			validation("invalid_choice", "Must be 1 (member), 8 (admin) or 15 (owner).", "1.level"))
		r.compare("column", table("bulk", "target_email,send_email\nd@x.example,false\n"), 400,
			validation("invalid_input", "There is no such column: the first line may name target_email, first_name, level, message, with commas between them.", "send_email"))
		r.compare("none", table("bulk", "target_email\n"), 400,
			faultBody("invalid_request", "parse_error", "The body is not a table: a line that names the columns must come first, then one for each item.", "null"))
		r.compare("too many", table("bulk", "target_email\n"+strings.Repeat("d@x.example\n", 101)), 400,
			validation("max_length", "At most 100 items fit in one request.", "null"))
		if got := r.send(r.key, "POST", invites, "target_email\nd@x.example\n", "Content-Type", "text/csv"); got.status != 415 {
			r.t.Errorf("one invite: %d %s", got.status, got.body)
		}
		r.wantCount(r.key, invites, 3)
	})
}
