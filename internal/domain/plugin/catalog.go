package plugin

import (
	"context"
	"slices"
	"strings"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
)

// CatalogApp is an app of the catalog.
type CatalogApp struct {
	Plugin

	Installed bool // by the caller's organization
	Verified  bool // by the maintainer of the catalog
}

// ListCatalog returns a page of the catalog, in its order.
func (s Service) ListCatalog(ctx context.Context, c access.Caller, p page.Page) (page.Found[CatalogApp], error) {
	if err := MayRead(c); err != nil {
		return page.Found[CatalogApp]{}, err
	}
	entries, err := s.Catalog.Entries(ctx)
	if err != nil || len(entries) <= p.Offset {
		return page.Found[CatalogApp]{Count: len(entries)}, err
	}
	keys, err := listURLKeys(ctx, s.DB, c.Organization.ID)
	if err != nil {
		return page.Found[CatalogApp]{}, err
	}
	shown := entries[p.Offset:min(p.Offset+p.Limit, len(entries))]
	apps := make([]CatalogApp, len(shown))
	for i, e := range shown {
		apps[i] = CatalogApp{
			Plugin: Plugin{
				Type: Repository, Name: e.Name, Description: e.Description, URL: e.URL,
				OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name,
			},
			Installed: slices.Contains(keys, e.Key()), Verified: e.Verified,
		}
	}
	return page.Counted(apps, p, len(entries)), nil
}

// InstallReview is what installing an app of the catalog would make.
type InstallReview struct {
	Plugin
	Tags   []string // the newest ones
	Readme string   // the raw text; "": it has none
	Files  []source.File
	Bundle Bundle // zero if there is none
}

// maxTags is how many versions of an app are shown before it is installed.
const maxTags = 20

// ReviewInstall fetches and compiles the app of the catalog with a url, and returns what installing it would make,
// without installing it.
func (s Service) ReviewInstall(ctx context.Context, c access.Caller, url string) (InstallReview, error) {
	if err := MayManage(c); err != nil {
		return InstallReview{}, err
	}
	o := InstallReview{Plugin: Plugin{Type: Repository, OrganizationID: c.Organization.ID}}
	remote, err := s.remote(ctx, &o.Plugin, url)
	if err != nil {
		return InstallReview{}, err
	}
	leave, err := s.Installs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return InstallReview{}, err
	}
	defer leave()
	repo, f, err := s.fetchInto(ctx, &o.Plugin, remote)
	if err != nil {
		return InstallReview{}, err
	}
	o.Tags, o.Files, o.Bundle = repo.Tags(maxTags), f.files, f.compiled()
	if at := slices.IndexFunc(f.files, func(file source.File) bool { return strings.EqualFold(file.Name, "readme.md") }); at >= 0 {
		o.Readme = f.files[at].Text
	}
	return o, nil
}
