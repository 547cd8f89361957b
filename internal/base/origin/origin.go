// Package origin formats web origins (RFC 6454) as browsers do.
package origin

import (
	"net/url"
	"strings"
)

var usualPorts = map[string]string{"https": "443", "http": "80"}

// Of returns a url's scheme, host and port as browsers write them in Origin.
func Of(u *url.URL) string { return u.Scheme + "://" + Host(u) }

// Host returns a url's host in lower case, with the port unless it is the default port of the scheme.
func Host(u *url.URL) string {
	host := Lower(u.Host)
	if port := u.Port(); port == "" || port == usualPorts[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return host
}

// Lower returns the name of a host in lower case. The capital İ keeps its dot, as requests and IDNA have it:
// strings.ToLower drops the dot, which names another host.
func Lower(host string) string { return strings.ToLower(strings.ReplaceAll(host, "İ", "i\u0307")) }
