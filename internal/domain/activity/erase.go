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
	Emails []string // what they have or had, each once, but for those that are another's now
}

// ShownBy lists the texts of which JSON that shows a person has one.
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

// Erase removes a person's addresses from the entries of all organizations. Chains hold: they
// have no more of an address than its hash with a salt, which goes too. Events that show the
// person are no longer listed.
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

// erase removes what some entries have of a person.
func erase(ctx context.Context, tx *db.Tx, which string, of any) error {
	return db.Exec(ctx, tx, `
		UPDATE activity SET name = '', salt = '', changes = CASE WHEN changes_hash = '' THEN changes ELSE '`+noChanges+`' END,
			data = NULL, data_erased = data_erased OR data IS NOT NULL
		WHERE salt <> '' AND (name_hash <> '' OR changes_hash <> '') AND `+which, of)
}

// eraseData removes the data that has a text, a part at a time.
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

// Shows reports whether one of the strings in some JSON has one of Person.ShownBy in it.
func Shows(data, text string) bool {
	d := json.NewDecoder(strings.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return false // it was all, or is no JSON
		}
		if s, ok := token.(string); ok && address.In(s, text) {
			return true
		}
	}
}
