package upstream

import (
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/origin"
)

// maxURLBytes limits the length of a url, both as sent and as escaped: an index entry of PostgreSQL has room for 2,704
// bytes.
const maxURLBytes = 2048

var errMalformed = badURL("The url is not well-formed: its port must be a number, and special characters of a name or password must be written as %XX: % as %25, / as %2F, # as %23, ^ as %5E.")

var errLongURL = fault.Field(fault.TooLong, "url", "The url must be at most %d characters long once it is escaped (as in %%C3%%A4).", maxURLBytes)

// Remote is the origin of an app: a git url whose secret parts are kept apart. Its text forms (String, and so logs and
// %v) show only URL.
type Remote struct {
	URL    string  // scheme, host and path: safe to store and to show
	secret *secret // nil if there is none
}

// secret holds the secret parts of a url.
type secret struct {
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	Query    string `json:"query,omitempty"` // raw, without "?"
}

// Parse reads the url to install an app from. Errors are faults on "url" and never quote it.
func Parse(raw string) (Remote, error) {
	if len(raw) > maxURLBytes {
		return Remote{}, errLongURL
	}
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	scheme, _, _ := strings.Cut(strings.ToLower(raw), "://")
	switch {
	case err != nil && (scheme == "http" || scheme == "https"): // the text of err would show a part of the password
		return Remote{}, errMalformed
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return Remote{}, badURL("The url must start with https:// or http://.")
	case u.Hostname() == "" || u.Opaque != "":
		return Remote{}, badURL("The url must name a host.")
	case strings.Contains(u.Host, "%"): // RFC 6874: a zone has a meaning only on one machine
		return Remote{}, badURL("The url's address must not have a zone.")
	case !validPort(u.Port()):
		return Remote{}, badURL("The url's port must be a number from 1 to 65535.")
	case u.Fragment != "":
		return Remote{}, badURL("The url must not have a fragment (#); name the version in \"tag\".")
	}
	s := secret{User: u.User.Username(), Query: u.RawQuery}
	s.Password, _ = u.User.Password()
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	remote := Remote{URL: clean.String()}
	if len(remote.URL) > maxURLBytes {
		return Remote{}, errLongURL
	}
	if !utf8.ValidString(s.User + s.Password + s.Query) {
		return Remote{}, badURL("The credentials in the url must be UTF-8.")
	}
	if s != (secret{}) {
		remote.secret = &s
	}
	return remote, nil
}

func validPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n >= 1 && n <= 65535
}

func badURL(detail string) error { return fault.Field(fault.Invalid, "url", "%s", detail) }

func (r Remote) String() string { return r.URL }

// WithSecretOf returns r with the secret of another Remote of the same repository, if that has one.
func (r Remote) WithSecretOf(other Remote) Remote {
	if other.secret != nil {
		r.secret = other.secret
	}
	return r
}

// Key returns the same text for urls of the same repository: scheme and host in lower case, without a trailing "/" or
// ".git", without credentials and query.
func (r Remote) Key() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.URL
	}
	path := u.EscapedPath()
	for {
		shorter := strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
		if shorter == path {
			break
		}
		path = shorter
	}
	return strings.ToLower(u.Scheme) + "://" + origin.Lower(u.Host) + path
}

// identity returns different texts for Remotes that may get different answers at the same url: an answer to one Remote's
// credentials is not for others. It does not reveal the secret, so it can be kept in memory.
func (r Remote) identity() string {
	sum := sha256.Sum256(r.secretJSON())
	return r.Key() + " " + string(sum[:])
}

// Equal reports whether two Remotes have the same url and the same secret.
func (r Remote) Equal(other Remote) bool {
	return r.URL == other.URL && r.identity() == other.identity()
}

func (r Remote) secretJSON() []byte {
	data, err := json.Marshal(r.secret)
	if err != nil {
		panic("upstream: a struct of strings does not marshal: " + err.Error())
	}
	return data
}
