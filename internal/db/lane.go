package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"foyer/internal/db/queue"
)

// lane carries to PostgreSQL what needs only one trip there. Loads that come while a
// trip is under way share the next one, and its commit: a trip costs more than most
// statements.
type lane struct {
	pool *pgxpool.Pool
}

// load is the statements of one caller: all of them hold, or none. It is the session
// of a blind transaction.
type load struct {
	queue.Turn
	statements []statement
	additions  []addition
	size       int // of all texts in it, in bytes

	question bool // it has one statement, which only reads
	answered bool // it is a question that has its answer
}

type statement struct {
	query string
	args  []any
	row   func(scan scanner) error // nil: it yields none
}

const (
	// maxTrip is how long a trip may take, with all that is sent again.
	maxTrip = 10 * time.Second
	// maxLoad is how many bytes of text a blind transaction may bring: a larger one would
	// keep the others waiting.
	maxLoad = 32 << 10
)

// startLane returns the queue for a lane. A load has been served once its statements are
// committed or undone, or nobody can know which.
func startLane(ctx context.Context, pool *pgxpool.Pool) *queue.Queue[*load] {
	l := lane{pool}
	ctx = context.WithoutCancel(ctx)
	return queue.Start(func(trip []*load) { l.travel(ctx, trip) })
}

// travel carries loads together. If a statement is refused, all are undone: then each
// goes by itself, except questions that have been answered.
func (l lane) travel(ctx context.Context, trip []*load) {
	ctx, cancel := context.WithTimeout(ctx, maxTrip)
	defer cancel()
	err := l.send(ctx, trip)
	for i, one := range trip {
		switch {
		case err == nil || one.answered:
		case refused(err) && len(trip) > 1:
			if err := l.send(ctx, trip[i:i+1]); err != nil {
				one.Err = err
			}
		default:
			one.Err = err
		}
	}
}

// refused reports whether an error means that nothing was done, and that the
// connection is not to blame.
func refused(err error) bool {
	if _, unsent := errors.AsType[pgx.ErrPreprocessingBatch](err); unsent {
		return true
	}
	e, _ := errors.AsType[*pgconn.PgError](err)
	return e != nil && e.SeverityUnlocalized == "ERROR"
}

// send sends all statements of a trip at once, without BEGIN and COMMIT: what
// comes before the end of a pipeline is one transaction
// (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING).
func (l lane) send(ctx context.Context, trip []*load) error {
	var batch pgx.Batch
	var additions []addition
	for _, one := range trip {
		for _, s := range one.statements {
			one.queue(&batch, s)
		}
		additions = append(additions, one.additions...)
	}
	additions = sum(additions)
	slices.SortFunc(additions, addition.compare) // the lanes of other servers lock rows in the same order
	for _, a := range additions {
		batch.Queue(a.query, a.args()...)
	}
	return l.pool.SendBatch(ctx, &batch).Close()
}

func (l *load) queue(batch *pgx.Batch, s statement) {
	q := batch.Queue(s.query, s.args...)
	if s.row == nil {
		return
	}
	q.Query(func(rows pgx.Rows) error {
		scan := func(dest ...any) error { // not rows.Scan, which would tell pgx
			return pgx.ScanRow(rows.Conn().TypeMap(), rows.FieldDescriptions(), rows.RawValues(), dest...)
		}
		var own error // of this load only, so pgx must not see it
		for own == nil && rows.Next() {
			own = safely(func() error { return s.row(scan) })
		}
		if rows.Close(); rows.Err() != nil {
			return rows.Err()
		}
		l.Err, l.answered = own, l.question
		return nil
	})
}

var errBlind = errors.New("a transaction that asks nothing cannot wait for an answer or a lock")

func (l *load) query(context.Context, string, []any, func(scan scanner) error) error { return errBlind }

func (l *load) exec(context.Context, string, []any) (int64, error) { return 0, errBlind }

func (l *load) run(_ context.Context, query string, args []any) error {
	l.put(statement{query: query, args: args})
	return nil
}

func (l *load) insertLater(_ context.Context, id *int64, query string, args []any) error {
	l.put(statement{query + returningID, args, func(scan scanner) error { return scan(id) }})
	return nil
}

func (l *load) put(s statement) {
	l.statements = append(l.statements, s)
	for _, arg := range s.args {
		switch v := arg.(type) {
		case string:
			l.size += len(v)
		case nullText:
			l.size += len(*v.s)
		}
	}
}

func (l *load) add(_ context.Context, a addition) error {
	l.additions = append(l.additions, a)
	return nil
}

// blind is the session of a blind transaction on SQLite.
type blind struct{ session }

func (blind) query(context.Context, string, []any, func(scan scanner) error) error { return errBlind }

func (blind) exec(context.Context, string, []any) (int64, error) { return 0, errBlind }

// InBlindTx is InTx for a transaction that asks nothing: fn runs statements only by Run,
// InsertLater, Append and Add. On PostgreSQL all that are waiting share a trip and a commit, as
// all transactions do on SQLite; fn runs twice if its texts are over 32 KB.
func (d *DB) InBlindTx(ctx context.Context, fn func(*Tx) error) error {
	if d.sqlite != nil {
		return d.sqlite.writer.do(ctx, &Tx{db: d, session: blind{d.sqlite.writer.conn}}, fn)
	}
	l := &load{}
	if err := fn(&Tx{db: d, session: l, Part: lanePart}); err != nil {
		return err
	}
	if l.size > maxLoad {
		return d.InTx(ctx, fn)
	}
	return classify(d.postgres.writes.Do(ctx, l))
}

// Quick is q for a question whose answer is one short row, found at once. On PostgreSQL
// all such questions that are waiting share a trip, except those of a transaction.
func Quick(q Querier) Querier {
	if d, ok := q.(*DB); ok && d.postgres != nil {
		return quick{d}
	}
	return q
}

type quick struct{ db *DB }

func (q quick) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	q.db.statements.Add(1)
	return q.db.postgres.reads.Do(ctx, &load{statements: []statement{{query, args, row}}, question: true})
}
