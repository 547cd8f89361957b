package api_test

import (
	"net/http"
	"strings"
	"testing"

	"foyer/internal/domain/access"
)

// A whole object that is sent back as read, even with strict handling, gets the same answer and ETag and changes
// nothing, so the plan of an infrastructure-as-code tool stays empty. A repeated deletion gets a 404.
func TestSentBackAsItWasRead(t *testing.T) {
	each(t, func(r *rig) {
		paths, _ := r.objects()
		member := "/members/" + r.join(r.org, "ada@acme.example", access.Member).User.UUID
		before, _ := r.audit(r.key, "")
		for _, path := range append(paths, member) {
			read := r.send(r.key, "GET", path, "")
			back := r.send(r.key, "PATCH", path, read.body, "Prefer", "handling=strict")
			if back.status != http.StatusOK || back.body != read.body || back.header.Get("Etag") != read.header.Get("Etag") {
				r.t.Errorf("%s was read as %s, answers %d %s", path, read.body, back.status, back.body)
			}
		}
		if after, _ := r.audit(r.key, ""); after != before {
			r.t.Errorf("%d changes", after-before)
		}
		invite := "/invites/" + r.invite("bob@x.example")
		for _, path := range append(paths[:4], member, invite) {
			for _, status := range []int{http.StatusNoContent, http.StatusNotFound} {
				r.wantStatus(r.key, "DELETE", path, "", status)
			}
		}
	})
}

// Clients escape other characters than the server: Python all but ASCII, Go and Terraform <, > and &.
func TestSentBackWithOtherEscapes(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"plugin_type":"source","name":"x","source":{"site.ts":"1"},"metrics":{"a":"\u0062"},
			"config_schema":[{"key":"k","type":"string","site":true,"default":"<é>"}]}`)
		site := "/sites/" + r.site("s")
		if got := r.send(r.key, "POST", site+"/apps", `{"app_id":`+id+`,"config":{"k":"<é/>"}}`); got.status != http.StatusCreated {
			t.Fatal(got.status, got.body)
		}
		before, _ := r.audit(r.key, "")
		escape := strings.NewReplacer(`<`, `\u003c`, `é`, `\u00E9`, `/`, `\/`, `\u0062`, `b`)
		for _, path := range []string{apps + id, apps + id + "/source", site + "/apps/" + id} {
			read := r.send(r.key, "GET", path, "")
			back := r.send(r.key, "PATCH", strings.Replace(path, "/source", "/update_source", 1), escape.Replace(read.body))
			if back.body != read.body || back.header.Get("Etag") != read.header.Get("Etag") {
				t.Errorf("%s was read as %s, answers %d %s", path, read.body, back.status, back.body)
			}
		}
		if after, _ := r.audit(r.key, ""); after != before {
			t.Errorf("%d changes", after-before)
		}
		spelled := r.send(r.key, "PATCH", apps+id, `{"config_schema":[{"type":"string","key":"k"},1.50]}`)
		if !strings.Contains(spelled.body, `[{"type":"string","key":"k"},1.50]`) {
			t.Error("another order or spelling of a number is not kept:", spelled.body)
		}
	})
}
