package activity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"foyer/internal/base/address"
	"foyer/internal/base/search"
	"foyer/internal/infra/db"
)

// Person is a user as entries may name them.
type Person struct {
	UserID int64
	UUID   string
	Emails []string // that they have or had, each once, except those that are another user's now
}

// ShownBy lists the texts that show a person: JSON that shows them contains at least one.
func (p Person) ShownBy() []string {
	return append([]string{p.UUID}, p.Emails...)
}

// Addresses lists the addresses that a user had while they were a member of something, as far
// back as activity is kept.
func Addresses(ctx context.Context, tx *db.Tx, uuid string) ([]string, error) {
	type named struct{ name, changes string }
	entries, err := db.All(ctx, tx, func(n *named) []any { return []any{&n.name, &n.changes} }, `
		SELECT DISTINCT name, CAST(changes AS TEXT) FROM activity WHERE scope = 'OrganizationMembership' AND item_id = $1`, uuid)
	var all []string
	for _, e := range entries {
		all = append(all, e.name)
		var changes []Change
		_ = json.Unmarshal([]byte(e.changes), &changes) // they were written by this package
		for _, c := range changes {
			if before, ok := c.Before.(string); ok && c.Field == "email" {
				all = append(all, before)
			}
		}
	}
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(all))), func(email string) bool { return email == "" }), err
}

// Erase removes a person's addresses from the entries of all organizations. Chains stay valid: they have only the hash
// of an address with a salt, and the salt is removed, too. Events that show the person are no longer listed.
func Erase(ctx context.Context, tx *db.Tx, p Person) error {
	lockStored(tx)
	for _, text := range p.ShownBy() {
		if err := eraseData(ctx, tx, text); err != nil {
			return err
		}
	}
	for _, email := range p.Emails {
		if err := erase(ctx, tx, `name = $1`, email); err != nil {
			return err
		}
	}
	return erase(ctx, tx, `scope = 'OrganizationMembership' AND item_id = $1`, p.UUID)
}

// erase removes a person's texts from the entries that a condition selects.
func erase(ctx context.Context, tx *db.Tx, which string, of any) error {
	return db.Exec(ctx, tx, `
		UPDATE activity SET name = '', salt = '', changes = CASE WHEN changes_hash = '' THEN changes ELSE '`+noChanges+`' END,
			data = NULL, data_erased = data_erased OR data IS NOT NULL
		WHERE salt <> '' AND (name_hash <> '' OR changes_hash <> '') AND `+which, of)
}

// eraseData removes the data that contains a text, a part at a time.
func eraseData(ctx context.Context, tx *db.Tx, text string) error {
	type held struct {
		id   int64
		data string
	}
	fields := func(h *held) []any { return []any{&h.id, &h.data} }
	for after, more := int64(0), true; more; {
		part, err := db.All(ctx, tx, fields, `
			SELECT id, data FROM activity WHERE data IS NOT NULL AND id > $1 AND CAST(data AS TEXT) LIKE $2 ESCAPE '!' ORDER BY id LIMIT $3`,
			after, "%"+search.LikeAnyCase(text)+"%", dataBatch)
		if err != nil {
			return err
		}
		more = len(part) == dataBatch
		for _, h := range part {
			after = h.id
			if !Shows(h.data, text) {
				continue
			}
			if err := db.Exec(ctx, tx, erasedData+`id = $1`, h.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// Shows reports whether a string in some JSON contains a text, which is one of Person.ShownBy.
func Shows(data, text string) bool {
	d := json.NewDecoder(strings.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return false // the end, or not JSON
		}
		if s, ok := token.(string); ok && address.In(s, text) {
			return true
		}
	}
}
