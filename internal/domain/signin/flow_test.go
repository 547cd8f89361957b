package signin

import (
	"testing"
	"time"

	"foyer/internal/base/seal"
	"foyer/internal/infra/oidc"
)

// kept is a flow as it was sealed once. A seal has a random nonce, and each process of a fuzz test sets it up for itself:
// one would take what another has sealed for made up.
const kept = "ijRzHZ4skbaF0EjqSVCuPile2q6oyyKFbZOo_1_jeuyY4uFQk16CGCsPVREe5aQuT1qZMPucW7NuEuAZjE2Nyo7SSYNb85y0IuiX3UNKOjCtEsbXUxlbPL6u_ojoRpsE7CuESC0kZhemDelLCCkaxxvBvoFrNa7UoCA"

// A text that a browser makes up is never accepted as one that it was given to keep.
func FuzzUnseal(f *testing.F) {
	s, other := Service{Box: seal.Box{Secret: "the secret of this test"}}, Service{Box: seal.Box{Secret: "another secret"}}
	given := flow{oidc.Secrets{State: "s", Nonce: "n", Verifier: "v"}, "/console/keys", time.Unix(1_800_000_000, 0).UTC()}
	var got flow
	if !s.unseal(flowUse, kept, &got) || got != given {
		f.Fatalf("%+v", got)
	}
	foreign, err := other.seal(flowUse, given)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", kept[:40], kept + "A", kept + "\n", foreign, "{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got flow
		if s.unseal(flowUse, text, &got) && text != kept {
			t.Errorf("%q opens as %+v", text, got)
		}
	})
}
