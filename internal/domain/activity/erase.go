package activity

import (
	"context"
	"slices"

	"foyer/internal/base/plaintext"
	"foyer/internal/infra/db"
)

// Person is a user as entries may name them.
type Person struct {
	UserID int64
	UUID   string
	Emails []string // what they have or had
}

// Addresses lists the addresses that a user had while they were a member of something, as far
// back as activity is kept.
func Addresses(ctx context.Context, tx *db.Tx, uuid string) ([]string, error) {
	return db.All(ctx, tx, db.Value[string], `
		SELECT DISTINCT name FROM activity WHERE scope = 'OrganizationMembership' AND item_id = $1 AND name <> '' ORDER BY name`, uuid)
}

// Erase removes a person's addresses from the entries of all organizations. Chains hold: they
// have no more of an address than its hash with a salt, which goes too. Events that show the
// person are no longer listed.
func Erase(ctx context.Context, tx *db.Tx, p Person) error {
	for _, email := range slices.Compact(slices.Sorted(slices.Values(p.Emails))) {
		if err := erase(ctx, tx, `name = $1`, email); err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, `UPDATE activity SET data = NULL WHERE CAST(data AS TEXT) LIKE $1 ESCAPE '!'`, "%"+plaintext.EscapeLike(email)+"%"); err != nil {
			return err
		}
	}
	if err := erase(ctx, tx, `scope = 'OrganizationMembership' AND item_id = $1`, p.UUID); err != nil {
		return err
	}
	return erase(ctx, tx, `scope IN ('Key', 'Session') AND user_id = $1`, p.UserID)
}

func erase(ctx context.Context, tx *db.Tx, which string, of any) error {
	return db.Exec(ctx, tx, `
		UPDATE activity SET name = '', salt = '', changes = CASE WHEN changes_hash = '' THEN changes ELSE '`+noChanges+`' END
		WHERE salt <> '' AND `+which, of)
}
