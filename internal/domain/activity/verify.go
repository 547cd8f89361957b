package activity

import (
	"context"
	"errors"
	"fmt"
	"math"

	"foyer/internal/infra/db"
)

// Kept is the head of a chain that somebody has kept elsewhere; the zero value is none.
type Kept struct {
	Number int64
	Hash   string
}

// Verified is the result of Verify.
type Verified struct {
	Head    Head
	Entries int64  // that were checked and are right
	Wrong   string // what is wrong with the first that is not, or why the kept head cannot be checked; "": nothing
}

// Chains returns the organizations that have activity or may have had some. It reads all entries: somebody may have
// removed the end of a chain, and the organization may have been erased.
func Chains(ctx context.Context, d *db.DB) ([]string, error) {
	return db.All[string](ctx, d, nil, `
		SELECT id FROM organizations UNION SELECT organization_id FROM activity_chains UNION SELECT organization_id FROM activity ORDER BY 1`)
}

// Verify follows an organization's chain up to the first entry that was changed, removed or put in. Only its kept head
// reveals a chain that somebody has made anew as a whole.
func Verify(ctx context.Context, d *db.DB, organizationID string, kept Kept) (Verified, error) {
	w := walk{kept: kept}
	wrong, err := w.follow(ctx, d, organizationID)
	if err == nil && wrong == "" {
		wrong, err = stray(ctx, d, organizationID)
	}
	if err != nil {
		return Verified{}, err
	}
	return Verified{Head: w.head, Entries: w.entries, Wrong: wrong}, nil
}

// beforeAll is lower than all numbers, so that entries put in before the first one are found.
const beforeAll = math.MinInt64

// follow checks all entries that have a number, and returns what is wrong with the first that is not as it was made.
func (w *walk) follow(ctx context.Context, d *db.DB, organizationID string) (wrong string, err error) {
	for after := int64(beforeAll); ; after = w.last {
		part, to, more, err := w.part(ctx, d, organizationID, after)
		if err != nil {
			return "", err
		}
		for i := range part {
			if wrong := w.step(&part[i]); wrong != "" {
				return wrong, nil
			}
		}
		if !more && w.last < to {
			return w.end(), nil
		}
	}
}

// part returns the entries after a number, up to the number to. more reports that there are further ones up to it.
func (w *walk) part(ctx context.Context, d *db.DB, organizationID string, after int64) (part []chained, to int64, more bool, err error) {
	err = d.View(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if w.head, err = HeadOf(ctx, q, organizationID); err != nil {
			return err
		}
		to = w.head.partAfter(max(after, w.head.dropped))
		part, more, err = numbered(ctx, q, organizationID, after, to)
		return err
	})
	if after == beforeAll {
		w.last, w.hash = w.head.dropped, w.head.droppedHash
	}
	w.skipDropped()
	return part, to, more, err
}

// partAfter returns the last number of the part that comes after a number. The last part has no end, so that entries
// put in after the head are found.
func (h Head) partAfter(after int64) int64 {
	if h.Number-after <= partEntries {
		return math.MaxInt64
	}
	return after + partEntries
}

// numbered returns the entries of a chain after a number and up to another.
func numbered(ctx context.Context, q db.Querier, organizationID string, after, to int64) (entries []chained, more bool, err error) {
	fields := func(c *chained) []any { return append(c.fields(), &c.Number, &c.Hash, db.Null(&c.Data), &c.dataErased) }
	return db.Some(ctx, q, fields, chained.Weight, partBytes, `
		SELECT `+chainedColumns+`, n.number, n.hash, a.data, a.data_erased FROM `+byNumber.entries()+`
		WHERE n.organization_id = $1 AND n.number > $2 AND n.number <= $3 ORDER BY n.number`, organizationID, after, to)
}

// stray reports the first entry that has no number and does not wait for one: somebody has put it in.
func stray(ctx context.Context, d *db.DB, organizationID string) (string, error) {
	id, err := db.One[int64](ctx, d, nil, `
		SELECT id FROM activity WHERE organization_id = $1
		AND NOT EXISTS (SELECT 1 FROM activity_numbers n WHERE n.activity_id = id AND n.organization_id = $1)
		AND NOT EXISTS (SELECT 1 FROM activity_unnumbered w WHERE w.activity_id = id AND w.organization_id = $1) ORDER BY id LIMIT 1`, organizationID)
	if errors.Is(err, db.ErrNoRow) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the entry with the id %d was put in: it has no number", id), nil
}

// walk is the progress of Verify.
type walk struct {
	head    Head
	kept    Kept
	last    int64  // the number of the entry before
	hash    string // and its hash
	entries int64
}

// skipDropped goes on after the entries that a server has dropped since the last part.
func (w *walk) skipDropped() {
	if w.head.dropped > w.last {
		w.last, w.hash = w.head.dropped, w.head.droppedHash
	}
}

// step checks the next entry, and returns what is wrong with it.
func (w *walk) step(e *chained) string {
	switch {
	case e.Number <= w.last:
		return fmt.Sprintf("entry %d (id %d) was put in", e.Number, e.ID)
	case e.Number > w.last+1:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case e.hashAfter(w.hash) != e.Hash || !e.keepsData(w.head.DataDropped) || !e.textsFit():
		return fmt.Sprintf("entry %d (id %d) was changed or put in", e.Number, e.ID)
	case e.Number == w.kept.Number && e.Hash != w.kept.Hash:
		return fmt.Sprintf("entry %d (id %d) is not the one whose hash was kept: it, or one before it, was changed, removed or put in", e.Number, e.ID)
	}
	if e.Number == w.kept.Number {
		w.kept = Kept{} // it is right, even if a server drops it now
	}
	w.last, w.hash = e.Number, e.Hash
	w.entries++
	return ""
}

// keepsData reports whether data is missing only where it was erased, or dropped with the data of all entries up to a
// number.
func (c *chained) keepsData(dropped int64) bool {
	if c.Data != "" {
		return !c.dataErased
	}
	return c.dataErased == (c.dataHash != "" && c.Number > dropped)
}

// textsFit reports whether each text that can be erased is as it was made or erased.
func (c *chained) textsFit() bool {
	if c.salt == "" {
		return (c.nameHash == "" || c.Name == "") && (c.changesHash == "" || c.Changes == noChanges) && c.Data == ""
	}
	return len(c.salt) == saltSize && (c.nameHash != "" || c.changesHash != "" || c.Data != "") &&
		(c.nameHash == "" || hashText(c.salt, c.Name) == c.nameHash) &&
		(c.changesHash == "" || hashText(c.salt, c.Changes) == c.changesHash) &&
		(c.Data == "" || hashText(c.salt, c.Data) == c.dataHash)
}

// end returns what is wrong after the last entry.
func (w *walk) end() string {
	switch {
	case w.head.Number > w.last:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case w.head.Number < w.last || w.head.Hash != w.hash:
		return fmt.Sprintf("entry %d is not the head that was stored", w.last)
	case w.head.DataDropped > w.last:
		return fmt.Sprintf("entry %d is the last, but data is said to have been dropped up to %d", w.last, w.head.DataDropped)
	case w.kept.Number > w.last:
		return fmt.Sprintf("entry %d was removed", w.last+1)
	case w.kept.Number > 0 && w.kept.Number < w.head.dropped:
		return fmt.Sprintf("entry %d, whose hash was kept, cannot be checked: the first that is still stored is %d; keep the hash of a newer one", w.kept.Number, w.head.dropped+1)
	case w.kept.Number == w.head.dropped && w.kept.Number > 0 && w.kept.Hash != w.head.droppedHash:
		return fmt.Sprintf("entry %d, which is no longer kept, is not the one whose hash was kept", w.kept.Number)
	}
	return ""
}
