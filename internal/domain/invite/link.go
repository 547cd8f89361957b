package invite

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/fault"
	"foyer/internal/base/precondition"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// Links makes the links of invites and recognizes them. A link is derived from the
// server's secret, so a copy of the database holds none. The zero Links, of a
// program without the secret, recognizes none.
type Links struct {
	key     []byte
	baseURL string
}

// NewLinks derives the key of links from the server's secret. The base url is what links start with, without a slash at
// the end. Without a secret, it returns the zero Links.
func NewLinks(secret, baseURL string) (Links, error) {
	if secret == "" {
		return Links{}, nil
	}
	key, err := seal.Key(secret, "foyer invite links v1")
	return Links{key: key, baseURL: baseURL}, err
}

// channel is how a link reaches the person invited.
type channel byte

const (
	mailed channel = 'm' // to the address, which it proves
	handed channel = 'h' // by a person, which proves nothing
)

// A token is the 16 bytes of the invite's id and the 32 of the code for it.
const tokenSize = len(uuid.UUID{}) + sha256.Size

var tokenText = base64.RawURLEncoding.Strict()

// url is the link to an invite for one channel.
func (l Links) url(i Invite, via channel) string { return l.baseURL + "/invite/" + l.token(i, via) }

func (l Links) token(i Invite, via channel) string {
	id := uuid.MustParse(i.ID)
	return tokenText.EncodeToString(append(id[:], l.code(id, i.Issue, via)...))
}

// code binds a link to one issue of an invite, and to one channel.
func (l Links) code(id uuid.UUID, issue int64, via channel) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write(id[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(issue)))
	mac.Write([]byte{byte(via)})
	return mac.Sum(nil)
}

// parsedToken is a token that was read; it need not be genuine.
type parsedToken struct {
	id   uuid.UUID
	code []byte
}

func readToken(text string) (parsedToken, bool) {
	b, err := tokenText.DecodeString(text)
	if err != nil || len(b) != tokenSize || len(text) != tokenText.EncodedLen(tokenSize) { // decoding skips line breaks
		return parsedToken{}, false
	}
	id := uuid.UUID(b[:len(uuid.UUID{})])
	return parsedToken{id: id, code: b[len(id):]}, true
}

// verify returns the channel of a token, if it is genuine for an issue of its invite.
func (l Links) verify(t parsedToken, issue int64) (channel, bool) {
	if l.key == nil {
		return 0, false // otherwise anybody could make one
	}
	for _, via := range []channel{mailed, handed} {
		if hmac.Equal(t.code, l.code(t.id, issue, via)) {
			return via, true
		}
	}
	return 0, false
}

// Link returns the link to an invite, to be passed on by hand, and when it expires, and records that. Anybody who has
// the link can become the person invited, so only admins get it, and never for a level above their own. Link does not
// reveal whether the address belongs to a user, for whom the link does not work.
func (s Service) Link(ctx context.Context, c access.Caller, id string) (url string, expires time.Time, err error) {
	if err := MaySeeLinks(c); err != nil {
		return "", time.Time{}, err
	}
	if s.Links.key == nil {
		return "", time.Time{}, errNoSecret
	}
	var i Invite
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if i, err = findLocked(ctx, tx, c.Organization.ID, id); err != nil {
			return access.OrNotFound(err)
		}
		c := c
		if c, err = access.ConfirmCached(ctx, tx, c, s.DB.Now(), MaySeeLinks); err != nil {
			return err
		}
		if err := precondition.Check(ctx, i); err != nil {
			return err
		}
		if err := s.mayHand(ctx, tx, c, i); err != nil {
			return err
		}
		if err := access.KeepSecret(ctx, tx); err != nil {
			return err
		}
		return activity.Record(ctx, tx, c.Did(activity.Entry{
			OrganizationID: i.OrganizationID, Scope: activity.Invite, ItemID: i.ID, Verb: activity.Updated, Name: i.TargetEmail,
			Changes: []activity.Change{activity.Changed("link", nil, "passed on by hand")},
		}), s.DB.Now())
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return s.Links.url(i, handed), i.ExpiresAt, nil
}

// mayHand reports whether a caller may pass the link of an invite on by hand.
func (s Service) mayHand(ctx context.Context, tx *db.Tx, c access.Caller, i Invite) error {
	if i.Level > c.Level {
		return fault.New(fault.Denied, "You may see links up to your own level, %d (%s).", c.Level, c.Level)
	}
	switch _, err := s.opened(ctx, tx, i, handed); {
	case fault.Is(err, fault.Expired):
		return fault.New(fault.Expired, "The invite has expired: resend it first.")
	case errors.Is(err, errInviter):
		return fault.New(fault.Denied, "The inviter may no longer invite at this level: resend the invite first, then you are its inviter.")
	case err != nil && !IsKnownUser(err):
		return err
	}
	return nil
}

var errNoSecret = errors.New("links are derived from the secret, which is not there: set FOYER_SECRET, or put it into the data folder, as the server has it")

// MaySeeLinks reports whether a caller may pass links on by hand.
func MaySeeLinks(c access.Caller) error {
	if c.Level < access.Admin {
		return fault.New(fault.Denied, "Only admins and owners may see the links of invites.")
	}
	return c.Scope.Require(access.All)
}
