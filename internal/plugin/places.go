package plugin

import (
	"sync"
	"time"

	"foyer/internal/fault"
)

// Places bounds how much work of one kind there is at once, so that no organization
// has more than a quarter of the places.
type Places struct {
	most int
	full string // what a caller who finds none is told

	mu             sync.Mutex
	total          int
	byOrganization map[string]int // by organization id
}

// NewPlaces returns so many places; full is a clause that says that none is free.
func NewPlaces(most int, full string) *Places {
	return &Places{most: most, full: full, byOrganization: map[string]int{}}
}

// begin takes a place for an organization; end gives it back.
func (p *Places) begin(organizationID string) (end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= p.most || p.byOrganization[organizationID] >= max(1, p.most/4) {
		return nil, fault.Later(fault.Busy, 5*time.Second, "%s; try again in a few seconds.", p.full)
	}
	p.total++
	p.byOrganization[organizationID]++
	return func() { p.end(organizationID) }, nil
}

func (p *Places) end(organizationID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.byOrganization[organizationID]--; p.byOrganization[organizationID] == 0 {
		delete(p.byOrganization, organizationID)
	}
}
