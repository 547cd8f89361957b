// Package smartgit is the reading half of git's smart HTTP protocol: what a
// host has, and one commit of it without its history. It speaks version 0, which
// every host knows and which lists the refs in a single request; version 2 takes
// two and gains only where there are more refs than an app has. It knows nothing
// of what is in a pack.
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

// Remote is a repository and what it takes to get in.
type Remote struct {
	URL                *url.URL // its query goes along with every request
	Username, Password string   // basic authentication, if either is set
}

// secret reports whether the remote has anything that answers must not show.
func (r Remote) secret() bool { return r.Username+r.Password+r.URL.RawQuery != "" }

// Session is an opened repository.
type Session struct {
	Refs []Ref // HEAD and the tags, as the host lists them

	client       *egress.Client
	remote       Remote
	base         *url.URL // where the repository is, after redirects
	trusted      bool     // no other origin has led there
	capabilities []string
}

// Open asks the host for its refs. Errors are those of egress.Client.Do.
func Open(ctx context.Context, client *egress.Client, remote Remote) (*Session, error) {
	s := &Session{client: client, remote: remote, base: remote.URL, trusted: true}
	req, err := s.request(ctx, http.MethodGet, "/info/refs", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req, maxRefsBytes)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	at := resp.Request.URL
	root, ok := strings.CutSuffix(at.EscapedPath(), "/info/refs")
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !ok || kind != "application/x-git-upload-pack-advertisement" {
		return nil, fault.New(fault.UpstreamUnavailable, "%s has no git repository at this url.", at.Host)
	}
	s.base, s.trusted = (&url.URL{Scheme: at.Scheme, Host: at.Host}).JoinPath(root), egress.Stayed(resp.Request, remote.URL)
	s.Refs, s.capabilities, err = readAdvertisement(s.packets(resp))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Fetch writes to w the pack of the objects that object (of one of the Refs)
// needs, without history. Hosts that can are asked to leave out blobs of
// tooBig bytes and more.
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
	if refused && filter != "" { // a host may know filters and not allow this one
		_, err = s.fetch(ctx, object, "", w)
	}
	return err
}

// fetch also tells whether the host refused before it sent any of the pack.
func (s *Session) fetch(ctx context.Context, object, filter string, w io.Writer) (refused bool, err error) {
	req, err := s.request(ctx, http.MethodPost, "/git-upload-pack", s.ask(object, filter))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	resp, err := s.client.Do(req, maxPackBytes)
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

// ask is the body that asks for one commit. Some hosts insist on
// multi_ack_detailed, though there is nothing in common to acknowledge.
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

// request makes one request of the protocol. What is secret goes only to the host that
// it was given for: not to one that this host redirects to, nor to a path that such
// another host redirects back to.
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
	req.Header.Set("User-Agent", "git/"+agent) // some hosts answer only git at this address
	if s.trusted && (s.remote.Username != "" || s.remote.Password != "") {
		req.SetBasicAuth(s.remote.Username, s.remote.Password)
	}
	return req, nil
}
