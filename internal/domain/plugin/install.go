package plugin

import (
	"cmp"
	"context"
	"errors"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

// dropBlankName unsets a blank name, so that the manifest or the catalog sets it.
func (d *Draft) dropBlankName() {
	if d.Name.Fault == nil && d.Name.Value == "" {
		d.Name = patch.Field[string]{}
	}
}

// checkOrigin finds what is missing in a draft to install from.
func (d *Draft) checkOrigin(kind Type) error {
	switch {
	case d.URL.Fault != nil:
		return d.URL.Fault
	case kind == Custom && d.URL.Value == "":
		return fault.Field(fault.Required, "url", "Must be given: the url of a git repository to install from.")
	case kind == Repository && d.URL.Value == "" && !d.Name.Set:
		return fault.Field(fault.Required, "name", "Must be given: the name of an app in the catalog, or its url.")
	case d.URL.Value != "":
		_, err := upstream.Parse(d.URL.Value)
		return err
	}
	return nil
}

// install stores p after filling it from its upstream.
func (s Service) install(ctx context.Context, c access.Caller, p Plugin, url string) (Plugin, error) {
	remote, err := s.remote(ctx, &p, url)
	if err != nil {
		return Plugin{}, err
	}
	if err := s.notInstalled(ctx, p.OrganizationID, remote); err != nil {
		return Plugin{}, err
	}
	credentials, err := remote.Seal(s.Box)
	if err != nil {
		return Plugin{}, err
	}
	leave, err := s.Installs.Enter(ctx, p.OrganizationID)
	if err != nil {
		return Plugin{}, err
	}
	defer leave()
	repo, f, err := s.fetchInto(ctx, &p, remote)
	if err != nil {
		return Plugin{}, err
	}
	o := origin{OrganizationID: p.OrganizationID, URLKey: remote.Key(), Credentials: credentials, CheckedAt: repo.CheckedAt}
	if p.Name == "" {
		return Plugin{}, fault.Field(fault.Required, "name", "Must be given: the app's %s has none.", source.ManifestName)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.insertWith(ctx, tx, c, &p, o, f.version(), f.build)
	})
	if errors.Is(err, db.ErrUnique) {
		return Plugin{}, errInstalled
	}
	return p, err
}

// fetchInto fills p from its upstream, at its tag or at the newest one.
func (s Service) fetchInto(ctx context.Context, p *Plugin, remote upstream.Remote) (*upstream.Repo, fetched, error) {
	repo, err := s.Upstream.Open(ctx, remote)
	if err != nil {
		return nil, fetched{}, err
	}
	v, err := repo.Resolve(p.Tag)
	if err != nil {
		return nil, fetched{}, err
	}
	f, err := s.fetch(ctx, p.OrganizationID, repo, v)
	if err != nil {
		return nil, fetched{}, err
	}
	describe(p, f.manifest)
	p.Tag, p.LatestTag, p.URL = f.tag, f.tag, remote.URL
	if newest, err := repo.Newest(); err == nil {
		p.LatestTag = newest.Tag
	}
	return repo, f, nil
}

// notInstalled fails if the organization already has an app from the same place.
func (s Service) notInstalled(ctx context.Context, organizationID string, remote upstream.Remote) error {
	taken, err := hasURLKey(ctx, s.DB, organizationID, remote.Key())
	if err == nil && taken {
		err = errInstalled
	}
	return err
}

// insertWith stores a new plugin with its first version.
func (s Service) insertWith(ctx context.Context, tx *db.Tx, c access.Caller, p *Plugin, o origin, v Version, b build) error {
	c, err := access.Confirm(ctx, tx, c, s.DB.Now(), mayInstall(*p))
	if err != nil {
		return err
	}
	p.OrganizationName = c.Organization.Name
	if err := insert(ctx, tx, p); err != nil {
		return err
	}
	o.PluginID = p.ID
	v.Schema = p.ConfigSchema
	if _, err = s.add(ctx, tx, c, &o, Version{}, v, b); err != nil {
		return err
	}
	if err := flagVersion(ctx, tx, *p); err != nil {
		return err
	}
	return s.installed(ctx, tx, c, *p)
}

var errInstalled = fault.Field(fault.NotUnique, "url", "An app from this url is installed already.")

// remote returns where a new plugin comes from: the given url, or the url of its entry in the catalog with the
// credentials of the given one. A plugin without a name gets that of the entry.
func (s Service) remote(ctx context.Context, p *Plugin, url string) (given upstream.Remote, err error) {
	if url != "" {
		given, err = upstream.Parse(url)
	}
	if err != nil || p.Type == Custom {
		return given, err
	}
	entries, err := s.Catalog.Entries(ctx)
	if err != nil {
		return upstream.Remote{}, err
	}
	for _, e := range entries {
		if url == "" && e.Name == p.Name || url != "" && e.Key() == given.Key() {
			p.Name = cmp.Or(p.Name, e.Name)
			r, err := e.Remote()
			return r.WithSecretOf(given), err
		}
	}
	if url != "" {
		return upstream.Remote{}, fault.Field(fault.Invalid, "url", "The catalog has no app with this url; install it as custom.")
	}
	return upstream.Remote{}, fault.Field(fault.Invalid, "name", "The catalog has no app named %q. The address of a repository begins with https://.", p.Name)
}

// fetched is a version that was fetched from its upstream and compiled.
type fetched struct {
	build
	commit   string
	tag      string
	manifest upstream.Manifest
}

func (f *fetched) version() Version { return Version{Tag: f.tag, Commit: f.commit} }

// fetch fetches and compiles one version of a repository.
func (s Service) fetch(ctx context.Context, organizationID string, repo *upstream.Repo, v upstream.Version) (fetched, error) {
	files, err := repo.Fetch(ctx, organizationID, v)
	if err != nil {
		return fetched{}, err
	}
	f := fetched{commit: v.Commit, tag: v.Tag}
	if f.manifest, err = source.ReadManifest(files[source.ManifestName], "url"); err != nil {
		return fetched{}, err
	}
	f.build, err = s.compile(ctx, organizationID, files)
	return f, err
}
