package seal_test

import (
	"errors"
	"testing"

	"foyer/internal/base/seal"
)

// A sealed text opens only with the same secret, purpose and bound bytes.
func TestBox(t *testing.T) {
	t.Parallel()
	box := seal.Box{Secret: "a secret", Purpose: "test v1"}
	sealed, err := box.Seal([]byte("a key"), []byte("place"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		box         seal.Box
		text, bound string
		opens       bool
	}{
		{box, sealed, "place", true},
		{seal.Box{Secret: "another", Purpose: "test v1"}, sealed, "place", false},
		{seal.Box{Secret: "a secret", Purpose: "test v2"}, sealed, "place", false},
		{box, sealed, "another", false},
		{box, sealed, "", false},
		{box, sealed[1:] + sealed[:1], "place", false},
		{box, sealed + "A", "place", false},
		{box, sealed[:5] + "\n" + sealed[5:], "place", false},
		{box, sealed + "\r\n", "place", false},
		{box, "!", "place", false},
		{box, "", "place", false},
	} {
		plain, err := tc.box.Open(tc.text, []byte(tc.bound))
		if opens := err == nil && string(plain) == "a key"; opens != tc.opens {
			t.Errorf("%+v: %q, %v", tc, plain, err)
		}
	}
}

func TestBoxWithoutSecret(t *testing.T) {
	t.Parallel()
	var none seal.Box
	if sealed, err := none.Seal([]byte("a key"), nil); !errors.Is(err, seal.ErrNoSecret) {
		t.Errorf("sealed %q, %v", sealed, err)
	}
	if plain, err := none.Open("", nil); !errors.Is(err, seal.ErrNoSecret) {
		t.Errorf("opened %q, %v", plain, err)
	}
}

// Stored texts can be opened for ever.
func TestOpensWhatIsStored(t *testing.T) {
	t.Parallel()
	const stored = "mPH_Zlg8UOclZL0htDk5yuZrCvskjaXToh6teUaE_G3q3Hs"
	box := seal.Box{Secret: "a secret for tests", Purpose: "foyer upstream credentials v1"}
	if plain, err := box.Open(stored, []byte("place")); string(plain) != "a token" {
		t.Errorf("%q, %v", plain, err)
	}
}
