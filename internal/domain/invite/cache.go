package invite

import (
	"foyer/internal/base/cache"
	"foyer/internal/domain/org"
)

// Cache keeps pages of invites, and inviters. Each use of a page asks the database whether it is still valid, at a
// fraction of the cost of reading it; inviters are valid until access.Keys has another Version.
type Cache struct {
	pages    cache.Cache[pageOf, []Invite]
	inviters cache.Cache[invitersOf, org.Inviters]
}

type pageOf struct {
	organizationID string
	after          cursor
	limit, skip    int
}

type invitersOf struct {
	userID         int64
	organizationID string
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	const (
		maxPages    = 8 << 20 // bytes
		maxInviters = 1 << 20
		perPage     = 300
		perInvite   = 600 // beside its texts
		perInviters = 500
	)
	return &Cache{
		pages: cache.Cache[pageOf, []Invite]{Max: maxPages, Size: func(invites []Invite) int {
			total := perPage
			for _, i := range invites {
				total += perInvite + len(i.TargetEmail) + len(i.FirstName) + len(i.Message)
			}
			return total
		}},
		inviters: cache.Cache[invitersOf, org.Inviters]{Max: maxInviters, Size: func(h org.Inviters) int {
			total := perInviters + len(h.Organization.Name) + len(h.User.Email) + len(h.User.FirstName) + len(h.User.LastName)
			for _, domain := range h.Organization.AllowedDomains {
				total += len(domain)
			}
			return total
		}},
	}
}
