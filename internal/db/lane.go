package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lane carries to PostgreSQL what needs but one trip there. What comes while a trip
// is under way shares the next one, and its commit: a trip costs more than most
// statements do.
type lane struct {
	pool  *pgxpool.Pool
	loads chan *load
	quit  chan struct{}
	done  chan struct{}
}

// load is the statements of one caller: all of them hold, or none.
type load struct {
	statements []statement
	additions  []addition
	err        error
	answer     chan struct{}
}

type statement struct {
	query string
	args  []any
	row   func(scan scanner) error // nil: it yields none
}

// maxTrip is how long a trip may take.
const maxTrip = 30 * time.Second

func startLane(ctx context.Context, pool *pgxpool.Pool) *lane {
	l := &lane{pool: pool, loads: make(chan *load), quit: make(chan struct{}), done: make(chan struct{})}
	go l.run(context.WithoutCancel(ctx))
	return l
}

// carry returns once a load's statements are carried out, or undone.
func (l *lane) carry(ctx context.Context, load *load) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	load.answer = make(chan struct{})
	select {
	case l.loads <- load:
		<-load.answer
		return load.err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.quit:
		return errClosed
	}
}

func (l *lane) close() {
	close(l.quit)
	<-l.done
}

func (l *lane) run(ctx context.Context) {
	defer close(l.done)
	trip := make([]*load, 0, maxShared)
	for {
		select {
		case first := <-l.loads:
			trip = append(trip[:0], first)
			for len(trip) < maxShared {
				next, ok := waiting(l.loads)
				if !ok {
					break
				}
				trip = append(trip, next)
			}
			l.travel(ctx, trip)
			for _, load := range trip {
				close(load.answer)
			}
		case <-l.quit:
			return
		}
	}
}

// travel carries loads together. If PostgreSQL refuses a statement it undoes them all:
// then each goes by itself.
func (l *lane) travel(ctx context.Context, trip []*load) {
	err := l.send(ctx, trip)
	refused, _ := errors.AsType[*pgconn.PgError](err)
	if refused != nil && refused.SeverityUnlocalized == "ERROR" && len(trip) > 1 {
		for i := range trip {
			trip[i].err = l.send(ctx, trip[i:i+1])
		}
		return
	}
	for i := range trip {
		trip[i].err = err
	}
}

// send sends all statements of a trip at once, without BEGIN and COMMIT: what
// comes before the end of a pipeline is one transaction
// (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING).
func (l *lane) send(ctx context.Context, trip []*load) error {
	ctx, cancel := context.WithTimeout(ctx, maxTrip)
	defer cancel()
	var batch pgx.Batch
	var additions []addition
	for _, load := range trip {
		for _, s := range load.statements {
			s.queue(&batch)
		}
		additions = append(additions, load.additions...)
	}
	additions = sum(additions)
	slices.SortFunc(additions, addition.compare) // the lanes of other servers lock rows in the same order
	for _, a := range additions {
		batch.Queue(a.query, a.args()...)
	}
	return l.pool.SendBatch(ctx, &batch).Close()
}

func (s statement) queue(batch *pgx.Batch) {
	q := batch.Queue(s.query, s.args...)
	if s.row != nil {
		q.Query(func(rows pgx.Rows) error { return each(rows, s.row) })
	}
}

// A load is the session of a transaction that asks nothing.

var errBlind = errors.New("a transaction that asks nothing cannot wait for an answer")

func (l *load) query(context.Context, string, []any, func(scan scanner) error) error { return errBlind }

func (l *load) exec(context.Context, string, []any) (int64, error) { return 0, errBlind }

func (l *load) run(_ context.Context, query string, args []any) error {
	l.statements = append(l.statements, statement{query: query, args: args})
	return nil
}

func (l *load) insertLater(_ context.Context, id *int64, query string, args []any) error {
	l.statements = append(l.statements, statement{query + returningID, args, func(scan scanner) error { return scan(id) }})
	return nil
}

func (l *load) add(_ context.Context, a addition) error {
	l.additions = append(l.additions, a)
	return nil
}

// InBlindTx is InTx for a transaction that asks nothing: fn runs statements by Run,
// InsertLater and Add alone. On PostgreSQL all that are waiting share a trip and a
// commit, as all transactions do on SQLite.
func (d *DB) InBlindTx(ctx context.Context, fn func(*Tx) error) error {
	if d.engine.sqlite {
		return d.InTx(ctx, fn)
	}
	l := &load{}
	if err := fn(&Tx{db: d, session: l, Part: lanePart}); err != nil {
		return err
	}
	return classify(d.writes.carry(ctx, l))
}

// Quick is a database that is asked for single rows, found at once. On PostgreSQL all
// such questions that are waiting share a trip.
func (d *DB) Quick() Querier { return quick{d} }

type quick struct{ db *DB }

func (q quick) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	if q.db.engine.sqlite {
		return q.db.query(ctx, query, args, row)
	}
	q.db.statements.Add(1)
	return q.db.reads.carry(ctx, &load{statements: []statement{{query, args, row}}})
}
