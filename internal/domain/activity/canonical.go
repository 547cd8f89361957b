package activity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"foyer/internal/base/digest"
)

// chained is an entry as it is in the chain: all that is stored of it.
type chained struct {
	Stored
	digests
	userID, keyID, sessionID string // in digits; "": NULL
	dataErased               bool
}

// digests are in the chain in place of those texts of an entry that may be erased: each is the SHA-256 of a salt and
// the text. "": the chain has the text itself, or the entry has no data.
type digests struct{ salt, nameHash, changesHash, dataHash string }

const chainedColumns = `a.id, a.organization_id, a.scope, a.item_id, a.activity, COALESCE(CAST(a.user_id AS TEXT), ''),
	COALESCE(CAST(a.key_id AS TEXT), ''), COALESCE(CAST(a.session_id AS TEXT), ''), a.address, a.name, a.changes, a.request_id, a.created_at,
	a.salt, a.name_hash, a.changes_hash, a.data_hash`

func (c *chained) fields() []any {
	return []any{
		&c.ID, &c.OrganizationID, &c.Scope, &c.ItemID, &c.Verb, &c.userID,
		&c.keyID, &c.sessionID, &c.Address, &c.Name, &c.Changes, &c.RequestID, &c.CreatedAt,
		&c.salt, &c.nameHash, &c.changesHash, &c.dataHash,
	}
}

// hashAfter is the entry's hash in the chain: SHA-256 of the hash before it and of the entry in
// the form of RFC 8785, in hexadecimal.
func (c *chained) hashAfter(previous string) string {
	before, err := hex.DecodeString(previous)
	if err != nil {
		before = []byte(previous) // somebody has changed it: no entry has a hash that follows
	}
	return digest.SHA256(c.appendCanonical(before))
}

// appendCanonical appends the entry in the form of RFC 8785: members in the order of their names, no white space. The
// changes are the text that is stored, as one string, so that two spellings of a number never count as equal.
func (c *chained) appendCanonical(b []byte) []byte {
	const fixed = 600 // bytes, more or less
	b = slices.Grow(b, fixed+len(c.Name)+len(c.Changes))
	text := func(before, value string) { b = appendText(append(b, before...), value) }
	number := func(before, digits string) {
		if digits == "" {
			digits = "null"
		}
		b = append(append(b, before...), digits...)
	}
	text(`{"activity":`, string(c.Verb))
	text(`,"address":`, c.Address)
	if c.changesHash == "" {
		text(`,"changes":`, c.Changes)
	} else {
		text(`,"changes_sha256":`, c.changesHash)
	}
	text(`,"created_at":`, c.CreatedAt.UTC().Format(time.RFC3339Nano))
	if c.dataHash != "" {
		text(`,"data_sha256":`, c.dataHash)
	}
	number(`,"id":`, strconv.FormatInt(c.ID, 10))
	text(`,"item_id":`, c.ItemID)
	number(`,"key_id":`, c.keyID)
	if c.nameHash == "" {
		text(`,"name":`, c.Name)
	} else {
		text(`,"name_sha256":`, c.nameHash)
	}
	number(`,"number":`, strconv.FormatInt(c.Number, 10))
	text(`,"organization_id":`, c.OrganizationID)
	text(`,"request_id":`, c.RequestID)
	text(`,"scope":`, string(c.Scope))
	number(`,"session_id":`, c.sessionID)
	number(`,"user_id":`, c.userID)
	return append(b, '}')
}

// appendText appends a string as RFC 8785, section 3.2.2.2, defines it. Bytes that are not UTF-8, which only somebody
// else can have written, are kept, so that different texts stay different.
func appendText(b []byte, s string) []byte {
	const hexadecimal = "0123456789abcdef"
	b = append(b, '"')
	plain := 0 // start of the bytes that need no escape
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hexadecimal[c>>4], hexadecimal[c&15])
		}
	}
	return append(append(b, s[plain:]...), '"')
}

// saltSize is the length of every salt: if it varied, characters could move between a salt and its text.
const saltSize = 26

// digestsOf hashes, with a new random salt, the parts of an entry that may have to be erased: its name or its changes,
// if they show a person's address or names, and its data.
func digestsOf(e Entry, changes string) (d digests) {
	named := e.Name != "" && personal(e.Scope)
	changed := e.Scope == Membership && slices.ContainsFunc(e.Changes, func(c Change) bool { return slices.Contains(personalFields, c.Field) })
	if named || changed || e.Data != "" {
		d.salt = rand.Text()[:saltSize]
	}
	if named {
		d.nameHash = hashText(d.salt, e.Name)
	}
	if changed {
		d.changesHash = hashText(d.salt, changes)
	}
	if e.Data != "" {
		d.dataHash = hashText(d.salt, e.Data)
	}
	return d
}

// personalFields are the fields of a member that identify a person.
var personalFields = []string{"email", "first_name", "last_name"}

// personal reports whether the name of an entry is a person's address.
func personal(s Scope) bool {
	switch s {
	case Invite, Membership, Key, Session:
		return true
	case Plugin, Site, Organization, Webhook:
	}
	return false
}

func hashText(salt, text string) string {
	sum := sha256.Sum256([]byte(salt + text)) // no copy on the heap, unlike in a call of another package
	return hex.EncodeToString(sum[:])
}
