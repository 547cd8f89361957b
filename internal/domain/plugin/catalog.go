package plugin

import (
	"context"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/infra/upstream"
)

// Offer is an app of the catalog.
type Offer struct {
	Plugin

	Installed bool // in the caller's organization
	Verified  bool // by whoever keeps the catalog
}

// Catalogued returns a page of the catalog, in its order.
func (s Service) Catalogued(ctx context.Context, c access.Caller, p page.Page) (page.Found[Offer], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Offer]{}, err
	}
	entries, err := s.Catalog.Entries(ctx)
	if err != nil || len(entries) <= p.Offset {
		return page.Found[Offer]{Count: len(entries)}, err
	}
	keys, err := listURLKeys(ctx, s.DB, c.Organization.ID)
	if err != nil {
		return page.Found[Offer]{}, err
	}
	installed := make(map[string]bool, len(keys))
	for _, key := range keys {
		installed[key] = true
	}
	shown := entries[p.Offset:min(p.Offset+p.Limit, len(entries))]
	offers := make([]Offer, len(shown))
	for i, e := range shown {
		offers[i] = offer(c, e)
		offers[i].Installed = installed[e.Key()]
	}
	return page.Counted(offers, p, len(entries)), nil
}

func offer(c access.Caller, e upstream.Entry) Offer {
	return Offer{
		Plugin: Plugin{
			Type: Repository, Name: e.Name, Description: e.Description, URL: e.URL,
			OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name,
		},
		Verified: e.Verified,
	}
}
