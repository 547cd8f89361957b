package api_test

import (
	"net/http"
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
				if got := r.send(r.key, "DELETE", path, ""); got.status != status {
					r.t.Errorf("DELETE %s: %d %s, want %d", path, got.status, got.body, status)
				}
			}
		}
	})
}
