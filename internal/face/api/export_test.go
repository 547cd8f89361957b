package api

// Forgotten is logged if a change does not check If-Match.
const Forgotten = forgotten

// Reporters returns how many client networks have reported recently.
func (a *API) Reporters() int { return len(a.byPage.buckets) }

// Counted returns for how many addresses requests are counted.
func (a *API) Counted() int { return len(a.byAddress.buckets) }

// OpenAPI returns the contract as YAML. It must not be changed.
func OpenAPI() []byte { return openAPIYAML.Plain() }
