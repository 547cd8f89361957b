package api

// Reporters is how many have reported for a site lately.
func (a *API) Reporters() int { return len(a.byPage.buckets) }
