// Package smartgit implements the reading half of git's smart HTTP protocol: the refs of a host, and one commit without
// its history. It speaks version 0, which every host knows and which lists the refs in a single request; version 2 takes
// two requests and pays off only with more refs than an app has. It does not know the content of packs.
package smartgit

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/egress"
)

const (
	// maxRefsBytes bounds the list of refs.
	maxRefsBytes = 8 << 20
	// maxPackBytes bounds a pack.
	maxPackBytes = 56 << 20

	agent = "foyer"
)

// Remote is a repository and the credentials for it.
type Remote struct {
	URL                *url.URL // its query is part of every request
	Username, Password string   // basic authentication, if either is set
}

// secret reports whether the remote has anything secret that responses must not show.
func (r Remote) secret() bool { return r.Username+r.Password+r.URL.RawQuery != "" }

// Session is an opened repository.
type Session struct {
	Refs []Ref // HEAD and the tags, in the host's order

	client       *egress.Client
	remote       Remote
	base         *url.URL // the url of the repository, after redirects
	trusted      bool     // whether no other origin redirected to base
	capabilities []string
}

// Open asks the host for its refs. Errors are those of egress.Client.Do.
func Open(ctx context.Context, client *egress.Client, remote Remote) (*Session, error) {
	s := &Session{client: client, remote: remote, base: remote.URL, trusted: true}
	req, err := s.request(ctx, http.MethodGet, "/info/refs", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req, maxRefsBytes, "refs, such as branches and pull requests: use a repository with fewer")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	at := resp.Request.URL
	root, ok := strings.CutSuffix(at.EscapedPath(), "/info/refs")
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !ok || kind != "application/x-git-upload-pack-advertisement" {
		return nil, fault.New(fault.UpstreamUnavailable, "%s has no git repository at this url, or does not serve it over smart HTTP.", at.Host)
	}
	s.base, s.trusted = (&url.URL{Scheme: at.Scheme, Host: at.Host}).JoinPath(root), egress.SameOrigin(resp.Request, remote.URL)
	s.Refs, s.capabilities, err = readAdvertisement(s.packets(resp))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Fetch writes to w the pack with the objects that object (of one of the Refs) needs, without history. It asks hosts that
// support filters to omit blobs of tooBig bytes and more.
func (s *Session) Fetch(ctx context.Context, object string, tooBig int, w io.Writer) error {
	for _, needed := range []string{"shallow", "side-band-64k"} {
		if !slices.Contains(s.capabilities, needed) {
			return fault.New(fault.UpstreamUnavailable, "%s cannot send a single commit (git's %q).", s.base.Host, needed)
		}
	}
	filter := ""
	if slices.Contains(s.capabilities, "filter") {
		filter = fmt.Sprintf("blob:limit=%d", tooBig)
	}
	refused, err := s.fetch(ctx, object, filter, w)
	if refused && filter != "" { // some hosts know filters and do not allow this one
		_, err = s.fetch(ctx, object, "", w)
	}
	return err
}

// fetch also reports whether the host refused before it sent any part of the pack.
func (s *Session) fetch(ctx context.Context, object, filter string, w io.Writer) (refused bool, err error) {
	req, err := s.request(ctx, http.MethodPost, "/git-upload-pack", s.ask(object, filter))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	resp, err := s.client.Do(req, maxPackBytes, "files for one version: use a repository with fewer or smaller ones")
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	p := s.packets(resp)
	err = readPack(p, w)
	return p.refused, err
}

func (s *Session) packets(resp *http.Response) *packets {
	return &packets{r: resp.Body, secret: s.remote.secret()}
}

// ask returns the request body for one commit. Some hosts require multi_ack_detailed, although there are no common
// commits to acknowledge.
func (s *Session) ask(object, filter string) io.Reader {
	capabilities := []string{"shallow", "side-band-64k", "agent=" + agent}
	for _, optional := range []string{"ofs-delta", "no-progress", "multi_ack_detailed"} {
		if slices.Contains(s.capabilities, optional) {
			capabilities = append(capabilities, optional)
		}
	}
	if filter != "" {
		capabilities = append(capabilities, "filter")
	}
	var b body
	b.line("want " + object + " " + strings.Join(capabilities, " "))
	b.line("deepen 1")
	if filter != "" {
		b.line("filter " + filter)
	}
	b.flush()
	b.line("done")
	return &b.Buffer
}

// request makes one request of the protocol. It sends the secret only to the host that the secret was given for: not to a
// host that this one redirects to, nor to a path that another host redirects back to.
func (s *Session) request(ctx context.Context, method, path string, content io.Reader) (*http.Request, error) {
	u := s.base.JoinPath(path)
	query := []string{}
	if method == http.MethodGet {
		query = append(query, "service=git-upload-pack")
	}
	if s.remote.URL.RawQuery != "" && s.trusted {
		query = append(query, s.remote.URL.RawQuery)
	}
	u.RawQuery = strings.Join(query, "&")
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, fault.Field(fault.Invalid, "url", "This is not a usable url.")
	}
	req.Header.Set("User-Agent", "git/"+agent) // some hosts respond only to git at this url
	if s.trusted && (s.remote.Username != "" || s.remote.Password != "") {
		req.SetBasicAuth(s.remote.Username, s.remote.Password)
	}
	return req, nil
}
