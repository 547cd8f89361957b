package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"foyer/internal/base/purpose"
)

// maxErasing replaces a pool's patience for a transaction that erases: one statement may change as many rows as there are.
const maxErasing = 24 * time.Hour

// Pool is the connections to a server.
type Pool struct {
	Patience time.Duration // how long a connection works before it must be extended or released

	pool  *pgxpool.Pool
	slots *slots
}

// Conn is a connection of the pool, for one caller at a time.
type Conn struct {
	*pgxpool.Conn
	// Shard is, for a transaction, a number that no other transaction of this server has at the same time.
	Shard int

	patience time.Duration
	slot     slot
}

// Acquire waits for a connection, which stops working if it is not extended or released in time. If PostgreSQL has no
// more connections, it waits for an existing one.
func (p *Pool) Acquire(ctx context.Context, inTx bool) (Conn, error) {
	until := time.Now().Add(maxWait)
	var none error
	for {
		slot, err := p.slots.enter(ctx, inTx, until)
		if err != nil {
			return Conn{}, errors.Join(err, none)
		}
		conn, err := p.pool.Acquire(ctx)
		switch {
		case err == nil:
			patience := p.Patience
			if purpose.Of(ctx) == purpose.Erasing {
				patience = maxErasing
			}
			c := Conn{conn, slot.shard, patience, slot}
			c.Extend()
			return c, nil
		case !Says(err, TooManyConnections):
			p.slots.leave(slot)
			return Conn{}, err
		}
		none = err
		p.slots.shrink(slot, int(p.pool.Stat().IdleConns()))
	}
}

// Extend lets the connection work as long again as it may after Acquire.
func (c Conn) Extend() { setDeadline(c.Conn, time.Now().Add(c.patience)) }

// Release returns a connection to the pool.
func (p *Pool) Release(conn Conn) {
	setDeadline(conn.Conn, time.Time{})
	conn.Release()
	p.slots.leave(conn.slot)
}

// setDeadline fails only on a closed connection, whose next use fails too.
func setDeadline(conn *pgxpool.Conn, at time.Time) { _ = conn.Conn().PgConn().Conn().SetDeadline(at) }

// Waits returns how many callers wait for a connection now, and how long all earlier ones together have waited.
func (p *Pool) Waits() (now int, all time.Duration) { return p.slots.waits() }

// Close ends the connections properly, if the server responds: for a server that does not, the pool would wait 15 seconds
// for each connection.
func (p *Pool) Close() {
	closed := make(chan struct{})
	go func() {
		p.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(silence):
	}
}
