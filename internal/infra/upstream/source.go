// Package upstream reads apps from their git repositories, and the catalog that lists some of them. Whatever an upstream
// does, it costs limited time, traffic and memory, and only a limited child process parses what it sends.
package upstream

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/smartgit"
	"foyer/internal/infra/upstream/unpack"
)

// In total, an installation may take 30 s and 64 MiB for its upstream (maxRefsBytes and maxPackBytes of smartgit).
const (
	refsTime = 10 * time.Second
	packTime = 20 * time.Second
)

// UnpackTask is the name of the sandbox.Task unpack.Run.
const UnpackTask = "unpack"

// Source reads the repositories of apps.
type Source struct {
	client   *egress.Client
	children *sandbox.Pool
	checks   *checks
}

// New returns a Source that sends requests with client and unpacks in children, which must know UnpackTask. The clock
// determines the age of Check's results.
func New(client *egress.Client, children *sandbox.Pool, now func() time.Time) *Source {
	return &Source{client: client, children: children, checks: newChecks(now)}
}

// Repo is an opened repository, good for one installation.
type Repo struct {
	versions

	CheckedAt time.Time // when the upstream listed its versions

	session  *smartgit.Session
	children *sandbox.Pool
}

// Open asks the upstream for its versions, with a timeout of 10 s. Errors caused by the host are faults: Invalid on "url"
// for a refused address, else UpstreamUnavailable.
func (s *Source) Open(ctx context.Context, r Remote) (*Repo, error) {
	ctx, cancel := context.WithTimeout(ctx, refsTime)
	defer cancel()
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, badURL("This is not a url.")
	}
	remote := smartgit.Remote{URL: u}
	if r.secret != nil {
		u.RawQuery = r.secret.Query
		remote.Username, remote.Password = r.secret.User, r.secret.Password
	}
	session, err := smartgit.Open(ctx, s.client, remote)
	if err != nil {
		return nil, err
	}
	repo := &Repo{CheckedAt: s.checks.now(), versions: readVersions(session.Refs), session: session, children: s.children}
	if newest, err := repo.Newest(); err == nil {
		s.checks.store(r, newest, repo.CheckedAt)
	}
	return repo, nil
}

// Fetch returns, for a tenant, the texts of one of the repository's versions by path, plugin.json included. The host has
// 20 s to send them. Errors are faults: Invalid on "tag" if the tag leads to no commit, Invalid on "url" for content that
// foyer does not accept, Busy if no child has time for it, else UpstreamUnavailable.
func (r *Repo) Fetch(ctx context.Context, tenant string, v Version) (map[string]string, error) {
	pack, err := newSpool()
	if err != nil {
		return nil, err
	}
	defer pack.Close()
	if _, err := io.WriteString(pack, v.Commit+"\n"); err != nil {
		return nil, fmt.Errorf("keep the pack: %w", err)
	}
	if err := r.fetch(ctx, v, pack); err != nil {
		return nil, err
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the pack again: %w", err)
	}
	return r.unpack(ctx, tenant, v.Tag, pack)
}

func (r *Repo) fetch(ctx context.Context, v Version, pack *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, packTime)
	defer cancel()
	return r.session.Fetch(ctx, v.object, unpack.MaxFileBytes+1, pack)
}

func (r *Repo) unpack(ctx context.Context, tenant, tag string, pack *os.File) (map[string]string, error) {
	output, err := r.children.Run(ctx, tenant, UnpackTask, pack)
	if killed, ok := errors.AsType[*sandbox.KilledError](err); ok {
		return nil, badURL("The repository cannot be unpacked: " + killed.Reason + ".")
	}
	if err != nil {
		return nil, fmt.Errorf("unpack a repository: %w", err)
	}
	var answer unpack.Answer
	if err := gob.NewDecoder(bytes.NewReader(output)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read what was unpacked: %w", err)
	}
	switch _, hasManifest := answer.Files["plugin.json"]; {
	case answer.NoCommit:
		return nil, fault.Field(fault.Invalid, "tag", "The tag %q does not lead to a commit; name another.", tag)
	case answer.Refused != "":
		return nil, badURL(answer.Refused)
	case answer.Broken != "":
		return nil, fault.New(fault.UpstreamUnavailable, "The git host's answer is broken: %s.", answer.Broken)
	case !hasManifest:
		return nil, badURL("The repository has no plugin.json in its top folder.")
	}
	return answer.Files, nil
}

// newSpool returns a file without a name, which disappears when it is closed or the server dies. Packs wait in such
// files, not in memory, for a free child, so that many slow upstreams neither fill the memory nor occupy children.
func newSpool() (*os.File, error) {
	f, err := os.CreateTemp("", "foyer-pack-")
	if err != nil {
		return nil, fmt.Errorf("make a file for the pack: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("make a file for the pack: %w", err)
	}
	return f, nil
}
