package invite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/google/uuid"

	"foyer/internal/base/seal"
)

// Links makes the links of invites and recognizes them. A link is derived from the
// server's secret, so a copy of the database holds none. The zero Links, of a
// program without the secret, recognizes none.
type Links struct {
	key     []byte
	baseURL string
}

// NewLinks derives the key of links from the server's secret. The base url is
// what links start with, without a slash at the end.
func NewLinks(secret, baseURL string) (Links, error) {
	key, err := seal.Key(secret, "foyer invite links v1")
	return Links{key: key, baseURL: baseURL}, err
}

// At returns the links that start with another base url.
func (l Links) At(baseURL string) Links { return Links{key: l.key, baseURL: baseURL} }

// way is how a link reaches the person invited.
type way byte

const (
	mailed way = 'm' // to the address, which it proves
	handed way = 'h' // by a person, which proves nothing
)

// A token is the 16 bytes of the invite's id and the 32 of the code for it.
const tokenSize = len(uuid.UUID{}) + sha256.Size

var tokenText = base64.RawURLEncoding.Strict()

// url is the link to an invite for one way.
func (l Links) url(i Invite, w way) string { return l.baseURL + "/invite/" + l.token(i, w) }

func (l Links) token(i Invite, w way) string {
	id := uuid.MustParse(i.ID)
	return tokenText.EncodeToString(append(id[:], l.code(id, i.Issue, w)...))
}

// code binds a link to one issue of an invite, and to one way.
func (l Links) code(id uuid.UUID, issue int64, w way) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write(id[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(issue)))
	mac.Write([]byte{byte(w)})
	return mac.Sum(nil)
}

// ticket is a token taken apart, which need not be genuine.
type ticket struct {
	id   uuid.UUID
	code []byte
}

func readToken(text string) (ticket, bool) {
	b, err := tokenText.DecodeString(text)
	if err != nil || len(b) != tokenSize || len(text) != tokenText.EncodedLen(tokenSize) { // it skips line breaks
		return ticket{}, false
	}
	id := uuid.UUID(b[:len(uuid.UUID{})])
	return ticket{id: id, code: b[len(id):]}, true
}

// verify returns the way of a ticket, if it is genuine for an issue of its invite.
func (l Links) verify(t ticket, issue int64) (way, bool) {
	if l.key == nil {
		return 0, false // else anybody could make one
	}
	for _, w := range []way{mailed, handed} {
		if hmac.Equal(t.code, l.code(t.id, issue, w)) {
			return w, true
		}
	}
	return 0, false
}
