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
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || port == usualPorts[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return host
}
