package activity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const (
	// chainEvery is how often a server looks for entries without a number.
	chainEvery = 500 * time.Millisecond
	// chainBatch is how many entries one transaction numbers at most.
	chainBatch = 200
)

// Chain gives entries their numbers and hashes until ctx is done, and passes errors to failed. Servers take turns.
func Chain(ctx context.Context, d *db.DB, failed func(error)) {
	tick := time.NewTicker(chainEvery)
	defer tick.Stop()
	for {
		if err := NumberAll(ctx, d); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// NumberAll gives all committed entries their numbers and hashes.
func NumberAll(ctx context.Context, d *db.DB) error {
	if waiting, err := anyUnnumbered(ctx, d); err != nil || !waiting {
		return err
	}
	for n := chainBatch; n == chainBatch; {
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = number(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// number numbers the first entries that have no number, in the order of their ids. On PostgreSQL an entry may be
// committed later than others with higher ids.
func number(ctx context.Context, tx *db.Tx) (n int, err error) {
	db.Lock(tx, "activity chain")
	ids, err := db.All[int64](ctx, tx, nil, `SELECT activity_id FROM activity_unnumbered ORDER BY activity_id LIMIT $1`, chainBatch)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	entries, err := withIDs(ctx, tx, ids)
	if err != nil {
		return 0, err
	}
	chains := heads{}
	for i := range entries {
		head, err := chains.of(ctx, tx, entries[i].OrganizationID)
		if err != nil {
			return 0, err
		}
		head.append(&entries[i])
		count(tx, entries[i].OrganizationID, entries[i].Scope, 1)
	}
	if err := insertNumbers(ctx, tx, entries); err != nil {
		return 0, err
	}
	for _, id := range slices.Sorted(maps.Keys(chains)) {
		if err := setHead(ctx, tx, *chains[id]); err != nil {
			return 0, err
		}
	}
	return len(ids), removeWaiting(ctx, tx, ids)
}

// heads holds the heads of the chains that get entries, by organization.
type heads map[string]*Head

func (h heads) of(ctx context.Context, tx *db.Tx, organizationID string) (*Head, error) {
	if h[organizationID] == nil {
		found, err := HeadOf(ctx, tx, organizationID)
		if err != nil {
			return nil, err
		}
		h[organizationID] = &found
	}
	return h[organizationID], nil
}

// Head is the last entry of an organization's chain.
type Head struct {
	OrganizationID string
	Number         int64 // 0: there is none yet
	Hash           string
	At             time.Time // when the entry was made
	DataDropped    int64     // the last entry whose data was removed for its age

	dropped     int64 // the last entry that is no longer kept; 0: all are
	droppedHash string
}

// beginning is the hash before the first entry.
const beginning = "0000000000000000000000000000000000000000000000000000000000000000"

// append makes an entry the next one of a chain.
func (h *Head) append(e *chained) {
	e.Number = h.Number + 1
	e.Hash = e.hashAfter(h.Hash)
	h.Number, h.Hash, h.At = e.Number, e.Hash, e.CreatedAt
}

// HeadOf returns the last entry of an organization's chain.
func HeadOf(ctx context.Context, q db.Querier, organizationID string) (Head, error) {
	h, err := db.One(ctx, q, (*Head).fields, `
		SELECT organization_id, number, hash, at, dropped, dropped_hash, data_dropped FROM activity_chains WHERE organization_id = $1`, organizationID)
	if errors.Is(err, db.ErrNoRow) {
		return Head{OrganizationID: organizationID, Hash: beginning, droppedHash: beginning}, nil
	}
	return h, err
}

func (h *Head) fields() []any {
	return []any{&h.OrganizationID, &h.Number, &h.Hash, &h.At, &h.dropped, &h.droppedHash, &h.DataDropped}
}

func setHead(ctx context.Context, tx *db.Tx, h Head) error {
	return db.Exec(ctx, tx, `
		INSERT INTO activity_chains (organization_id, number, hash, at, dropped, dropped_hash) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (organization_id) DO UPDATE SET number = $2, hash = $3, at = $4`,
		h.OrganizationID, h.Number, h.Hash, h.At, h.dropped, h.droppedHash)
}

func anyUnnumbered(ctx context.Context, q db.Querier) (bool, error) {
	return db.One[bool](ctx, q, nil, `SELECT EXISTS (SELECT 1 FROM activity_unnumbered)`)
}

// withIDs returns the entries with the given ids that have no number, in the order of the ids.
func withIDs(ctx context.Context, q db.Querier, ids []int64) ([]chained, error) {
	query, args := selectIDs(ids)
	return db.All(ctx, q, (*chained).fields, query, args...)
}

// selectIDs names the entries one by one and looks up the number of each separately, so that each engine finds them by
// their ids, whatever size it assumes for the tables: with NOT EXISTS, PostgreSQL reads all numbers.
func selectIDs(ids []int64) (query string, args []any) {
	query = `
		SELECT ` + chainedColumns + ` FROM activity a WHERE a.id IN (` + queries.Arg(&args, padded(ids)...) + `)
		AND (SELECT n.number FROM activity_numbers n WHERE n.activity_id = a.id) IS NULL ORDER BY a.id`
	return query, args
}

// removeWaiting removes entries from those that wait for a number, even if somebody has removed the entries themselves.
func removeWaiting(ctx context.Context, tx *db.Tx, ids []int64) error {
	var args []any
	query := `DELETE FROM activity_unnumbered WHERE activity_id IN (` + queries.Arg(&args, padded(ids)...) + `)`
	return db.Exec(ctx, tx, query, args...)
}

// padded fills ids up to chainBatch with zeros, which are the id of no entry: each connection keeps a prepared
// statement for each number of arguments.
func padded(ids []int64) []int64 {
	return append(slices.Clip(ids), make([]int64, chainBatch-len(ids))...)
}

// insertNumbers stores the numbers and hashes of entries, with few different statements. A number that is already
// taken, which only somebody else can have stored, stays: Verify finds that it is not the entry's.
func insertNumbers(ctx context.Context, tx *db.Tx, entries []chained) error {
	for _, size := range []int{100, 10, 1} {
		for ; len(entries) >= size; entries = entries[size:] {
			rows := make([]string, size)
			var args []any
			for i, e := range entries[:size] {
				rows[i] = `(` + queries.Arg[any](&args, e.ID, e.OrganizationID, e.Number, e.Hash) + `)`
			}
			err := db.Exec(ctx, tx, `
				INSERT INTO activity_numbers (activity_id, organization_id, number, hash) VALUES `+strings.Join(rows, ", ")+` ON CONFLICT DO NOTHING`, args...)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
