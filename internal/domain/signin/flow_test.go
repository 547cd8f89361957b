package signin

import (
	"testing"
	"time"

	"foyer/internal/base/seal"
	"foyer/internal/infra/oidc"
)

// A text that a browser makes up is never accepted as one that it was given to keep.
func FuzzUnseal(f *testing.F) {
	s, other := Service{Box: seal.Box{Secret: "a secret of the tests"}}, Service{Box: seal.Box{Secret: "another secret"}}
	given := flow{oidc.Secrets{State: "s", Nonce: "n", Verifier: "v"}, "/console/keys", time.Unix(1_800_000_000, 0).UTC()}
	kept, err := s.seal(flowUse, given)
	if err != nil {
		f.Fatal(err)
	}
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
