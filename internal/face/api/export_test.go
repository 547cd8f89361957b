package api

// Reporters is how many have reported for a site lately.
func (a *API) Reporters() int { return len(a.byPage.buckets) }

// Counted is for how many addresses requests are counted.
func (a *API) Counted() int { return len(a.byAddress.buckets) }

// OpenAPI is the contract as YAML. It must not be changed.
func OpenAPI() []byte { return openAPIYAML.Plain() }
