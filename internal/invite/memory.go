package invite

import (
	"foyer/internal/cache"
	"foyer/internal/org"
)

// Memory keeps what was read. For pages the database is asked each time whether they
// still hold, at a fraction of the cost of reading them; hosts hold until access.Keys
// has another Version.
type Memory struct {
	pages cache.Cache[pageOf, []Invite]
	hosts cache.Cache[hostsOf, org.Hosts]
}

type pageOf struct {
	organizationID string
	after          cursor
	limit, skip    int
}

type hostsOf struct {
	userID         int64
	organizationID string
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	const (
		maxPages  = 8 << 20 // bytes
		maxHosts  = 1 << 20
		perInvite = 600 // beside its texts
		perHosts  = 500
	)
	return &Memory{
		pages: cache.Cache[pageOf, []Invite]{MaxBytes: maxPages, Size: func(invites []Invite) int {
			total := 0
			for _, i := range invites {
				total += perInvite + len(i.TargetEmail) + len(i.FirstName) + len(i.Message)
			}
			return total
		}},
		hosts: cache.Cache[hostsOf, org.Hosts]{MaxBytes: maxHosts, Size: func(h org.Hosts) int {
			total := perHosts + len(h.Organization.Name) + len(h.User.Email) + len(h.User.FirstName) + len(h.User.LastName)
			for _, domain := range h.Organization.AllowedDomains {
				total += len(domain)
			}
			return total
		}},
	}
}
