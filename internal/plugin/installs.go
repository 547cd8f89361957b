package plugin

import (
	"sync"
	"time"

	"foyer/internal/fault"
)

// Installs bounds how many installations and upgrades there are at once, so that
// no organization has more than a quarter of the places.
type Installs struct {
	most int

	mu             sync.Mutex
	total          int
	byOrganization map[string]int // by organization id
}

// NewInstalls returns so many places.
func NewInstalls(most int) *Installs {
	return &Installs{most: most, byOrganization: map[string]int{}}
}

// begin takes a place for an organization, which end gives back.
func (i *Installs) begin(organizationID string) (end func(), err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.total >= i.most || i.byOrganization[organizationID] >= max(1, i.most/4) {
		return nil, fault.Later(fault.Busy, 5*time.Second, "Too many apps are being installed; try again in a few seconds.")
	}
	i.total++
	i.byOrganization[organizationID]++
	return func() { i.end(organizationID) }, nil
}

func (i *Installs) end(organizationID string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.total--
	if i.byOrganization[organizationID]--; i.byOrganization[organizationID] == 0 {
		delete(i.byOrganization, organizationID)
	}
}
