package invite

import (
	"foyer/internal/base/cache"
	"foyer/internal/domain/org"
)

// Cache keeps pages of invites, and hosts. Each use of a page asks the database whether it is still valid, at a
// fraction of the cost of reading it; hosts are valid until access.Keys has another Version.
type Cache struct {
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

// NewCache returns an empty cache.
func NewCache() *Cache {
	const (
		maxPages  = 8 << 20 // bytes
		maxHosts  = 1 << 20
		perPage   = 300
		perInvite = 600 // beside its texts
		perHosts  = 500
	)
	return &Cache{
		pages: cache.Cache[pageOf, []Invite]{Max: maxPages, Size: func(invites []Invite) int {
			total := perPage
			for _, i := range invites {
				total += perInvite + len(i.TargetEmail) + len(i.FirstName) + len(i.Message)
			}
			return total
		}},
		hosts: cache.Cache[hostsOf, org.Hosts]{Max: maxHosts, Size: func(h org.Hosts) int {
			total := perHosts + len(h.Organization.Name) + len(h.User.Email) + len(h.User.FirstName) + len(h.User.LastName)
			for _, domain := range h.Organization.AllowedDomains {
				total += len(domain)
			}
			return total
		}},
	}
}
