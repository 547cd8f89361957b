package oidc

import "net/http"

// SetTransport sets how the provider's host is reached.
func (p *Provider) SetTransport(t http.RoundTripper) { p.client = &http.Client{Transport: t} }
