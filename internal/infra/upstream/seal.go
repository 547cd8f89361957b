package upstream

import (
	"encoding/json"
	"errors"
	"fmt"

	"foyer/internal/base/seal"
)

var errOtherSecret = badURL("The credentials of the url cannot be read: FOYER_SECRET is not the one that the app was installed with. " +
	"Set it back, or give them anew (foyer admin app credentials).")

// Seal returns r's secret as text for the database, "" if r has none. The text can be opened only for the same
// repository, so nobody with write access to the database can make the server send one host's credentials to another.
func (r Remote) Seal(box seal.Box) (string, error) {
	if r.secret == nil {
		return "", nil
	}
	return box.Seal(r.secretJSON(), []byte(r.Key()))
}

// Unseal restores a Remote from its URL and the result of Seal. If another secret sealed the text, the error is an
// Invalid fault on "url".
func Unseal(box seal.Box, cleanURL, sealed string) (Remote, error) {
	remote := Remote{URL: cleanURL}
	if sealed == "" {
		return remote, nil
	}
	plain, err := box.Open(sealed, []byte(remote.Key()))
	if errors.Is(err, seal.ErrNoSecret) {
		return Remote{}, err
	}
	if err != nil {
		return Remote{}, errOtherSecret
	}
	if err := json.Unmarshal(plain, &remote.secret); err != nil {
		return Remote{}, fmt.Errorf("sealed credentials of %s: %w", cleanURL, err)
	}
	return remote, nil
}
