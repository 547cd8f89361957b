package signin

import (
	"testing"
	"time"

	"foyer/internal/infra/oidc"
)

// Nothing that a browser makes up is taken for what it was given to keep.
func FuzzUnseal(f *testing.F) {
	s, err := Service{}.WithSecret("a secret of the tests")
	if err != nil {
		f.Fatal(err)
	}
	other, err := Service{}.WithSecret("another secret")
	if err != nil {
		f.Fatal(err)
	}
	given := flow{oidc.Secrets{State: "s", Nonce: "n", Verifier: "v"}, "/console/keys", time.Unix(1_800_000_000, 0).UTC()}
	kept, err := s.seal(given)
	if err != nil {
		f.Fatal(err)
	}
	if got, ok := s.unseal(kept); !ok || got != given {
		f.Fatalf("%+v, %t", got, ok)
	}
	foreign, err := other.seal(given)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", kept[:40], kept + "A", foreign, "{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := s.unseal(text); ok && got != given {
			t.Errorf("%q opens as %+v", text, got)
		}
	})
}
