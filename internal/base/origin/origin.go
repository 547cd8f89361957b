// Package origin knows web origins (RFC 6454) as browsers write them.
package origin

import (
	"net/url"
	"strings"
)

var usualPorts = map[string]string{"https": "443", "http": "80"}

// Of returns a url's scheme, host and port as browsers write them in Origin.
func Of(u *url.URL) string { return u.Scheme + "://" + Host(u) }

// Host returns the host of a url in small letters, with its port unless its scheme has that anyway.
func Host(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || port == usualPorts[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return host
}
