package seal_test

import (
	"crypto/cipher"
	"encoding/base64"
	"testing"

	"foyer/internal/base/seal"
)

func sealer(t *testing.T, secret, purpose string) cipher.AEAD {
	t.Helper()
	s, err := seal.New(secret, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is sealed opens with the same secret, for the same purpose.
func TestNew(t *testing.T) {
	t.Parallel()
	sealed := sealer(t, "a secret", "test v1").Seal(nil, nil, []byte("a key"), nil)
	for _, tc := range []struct {
		secret, purpose string
		opens           bool
	}{
		{"a secret", "test v1", true}, {"another", "test v1", false}, {"a secret", "test v2", false},
	} {
		plain, err := sealer(t, tc.secret, tc.purpose).Open(nil, nil, sealed, nil)
		if opens := err == nil && string(plain) == "a key"; opens != tc.opens {
			t.Errorf("%+v: %q, %v", tc, plain, err)
		}
	}
}

// What is in databases opens for ever.
func TestOpensWhatIsStored(t *testing.T) {
	t.Parallel()
	const stored = "mPH/Zlg8UOclZL0htDk5yuZrCvskjaXToh6teUaE/G3q3Hs=" // made before there was this package
	sealed, err := base64.StdEncoding.DecodeString(stored)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := sealer(t, "a secret for tests", "foyer upstream credentials v1").Open(nil, nil, sealed, []byte("place")); string(plain) != "a token" {
		t.Errorf("%q, %v", plain, err)
	}
}
