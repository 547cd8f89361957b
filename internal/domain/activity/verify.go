package activity

import (
	"context"
	"fmt"
	"math"

	"foyer/internal/infra/db"
)

// Kept is the head of a chain as somebody has kept it elsewhere; the zero value is none.
type Kept struct {
	Number int64
	Hash   string
}

// Verified is how far a chain is as it was made.
type Verified struct {
	Head    Head
	Entries int64  // that were looked at and are right
	Wrong   string // the first that is not; "": none
}

// verifyPart is how many entries are read at a time.
const verifyPart = 1000

// Chains names the organizations that have activity or may have had some.
func Chains(ctx context.Context, d *db.DB) ([]string, error) {
	return db.All(ctx, d, db.Value[string], `SELECT id FROM organizations UNION SELECT organization_id FROM activity_chains ORDER BY 1`)
}

// Verify follows an organization's chain up to the first entry that was changed, removed or put
// in. A chain that somebody made anew as a whole is seen by its kept head alone.
func Verify(ctx context.Context, d *db.DB, organizationID string, kept Kept) (Verified, error) {
	w := walk{kept: kept}
	read := int64(math.MinInt64) // so that what was put before the first is seen
	for more, first := true, true; more; first = false {
		var part []chained
		err := d.View(ctx, func(ctx context.Context, q db.Querier) (err error) {
			if w.head, err = findHead(ctx, q, organizationID); err != nil {
				return err
			}
			part, more, err = db.Some(ctx, q, (*chained).fields, func(c chained) int { return len(c.Changes) + len(c.Data) }, partBytes, `
				SELECT `+chainedColumns+` FROM activity WHERE organization_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
				organizationID, read, verifyPart)
			more = more || len(part) == verifyPart
			return err
		})
		if err != nil {
			return Verified{}, err
		}
		if first {
			w.last, w.hash = w.head.dropped, w.head.droppedHash
		}
		for i := range part {
			if wrong := w.step(&part[i]); wrong != "" {
				return w.verified(wrong), nil
			}
			read = part[i].Number
		}
	}
	return w.verified(w.end()), nil
}

// walk is how far Verify is.
type walk struct {
	head    Head
	kept    Kept
	last    int64  // the number of the entry before
	hash    string // and its hash
	entries int64
}

func (w *walk) verified(wrong string) Verified {
	return Verified{Head: w.head, Entries: w.entries, Wrong: wrong}
}

// step looks at the next entry, and says what is wrong with it.
func (w *walk) step(e *chained) string {
	if w.head.dropped > w.last { // a server has dropped entries since
		w.last, w.hash = w.head.dropped, w.head.droppedHash
	}
	switch {
	case e.Number <= w.last:
		return fmt.Sprintf("entry %d (id %d) was put in", e.Number, e.ID)
	case e.Number > w.last+1:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case e.hashAfter(w.hash) != e.Hash || !e.fits():
		return fmt.Sprintf("entry %d (id %d) was changed or put in", e.Number, e.ID)
	case e.Number == w.kept.Number && e.Hash != w.kept.Hash:
		return fmt.Sprintf("entry %d (id %d) is not the one whose hash was kept: it, or one before it, was changed, removed or put in", e.Number, e.ID)
	}
	w.last, w.hash = e.Number, e.Hash
	w.entries++
	return ""
}

// fits reports whether what can be erased is as it was made, or erased.
func (c *chained) fits() bool {
	switch {
	case c.Data != "" && c.dataHash != "":
		return false
	case c.nameHash == "" && c.changesHash == "":
		return (c.salt == "") == (c.Data == "")
	case c.salt == "":
		return (c.nameHash == "" || c.Name == "") && (c.changesHash == "" || c.Changes == noChanges) && c.Data == ""
	}
	return (c.nameHash == "" || hashText(c.salt, c.Name) == c.nameHash) &&
		(c.changesHash == "" || hashText(c.salt, c.Changes) == c.changesHash)
}

// end says what is wrong after the last entry.
func (w *walk) end() string {
	switch {
	case w.head.Number > w.last:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case w.head.Number < w.last || w.head.Hash != w.hash:
		return fmt.Sprintf("entry %d is not the head that was stored", w.last)
	case w.kept.Number > w.last:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case w.kept.Number == w.head.dropped && w.kept.Number > 0 && w.kept.Hash != w.head.droppedHash:
		return fmt.Sprintf("entry %d, which is no longer kept, is not the one whose hash was kept", w.kept.Number)
	}
	return ""
}
