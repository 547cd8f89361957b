// Package postgres connects to a PostgreSQL server and shares its connections among callers; pgx itself speaks to it.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	minConns = otherConns + 1
	maxConns = 20
	maxIdle  = 5 * time.Minute
	// otherConns is how many connections transactions never take, so that other queries do not wait behind those that
	// wait for locks.
	otherConns = 4

	// silence is how long a host may not respond while a connection is opened, tried or closed, before it counts as lost.
	silence = 5 * time.Second
)

// sessionSettings sets what foyer relies on, regardless of the role, the database or the url. A transaction that is idle
// for 10 seconds belongs to a server that is frozen or cut off, and would hold its locks. A transaction that waits as
// long for a lock, for example of a person at a prompt, would hold a connection.
const sessionSettings = `
	SET client_encoding = 'UTF8';
	SET default_transaction_isolation = 'read committed';
	SET idle_in_transaction_session_timeout = '10s';
	SET lock_timeout = '10s'`

// Open connects to a server; patience is its Pool's.
func Open(ctx context.Context, address string, patience time.Duration) (*Pool, error) {
	c, err := config(address)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	connections := int(c.MaxConns)
	p := &Pool{Patience: patience, pool: pool, slots: newSlots(connections, connections-otherConns)}
	if err := p.checkPooler(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return p, nil
}

var errShared = errors.New("a pooler in between shares one session among clients, whose settings and locks would mix: " +
	"foyer needs sessions of its own (PgBouncer: pool_mode = session)")

// checkPooler connects, and refuses a pooler that gives two connections the same session, or one connection two. Such a
// pooler may do neither for a moment if others use it, so checkPooler tries a few times.
func (p *Pool) checkPooler(ctx context.Context) error {
	const tries = 3
	conn, err := p.Acquire(ctx, false)
	if err != nil {
		return err
	}
	defer p.Release(conn)
	other, err := p.pool.Acquire(ctx)
	if Says(err, TooManyConnections) {
		return nil // a pooler that shares sessions does not run out of connections
	}
	if err != nil {
		return err
	}
	defer other.Release()
	for range tries {
		var sessions [3]string
		for i, c := range []*pgxpool.Conn{conn.Conn, conn.Conn, other} {
			if sessions[i], err = sessionOf(ctx, c); err != nil {
				return err
			}
		}
		if sessions[0] != sessions[1] || sessions[0] == sessions[2] {
			return errShared
		}
	}
	return nil
}

// sessionOf uses no prepared statement, because such a pooler may not know it.
func sessionOf(ctx context.Context, conn *pgxpool.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	results, err := conn.Conn().PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

// CheckURL returns what is wrong with the url of a database on a server.
func CheckURL(address string) error {
	_, err := config(address)
	return err
}

// config parses the url of a database. Its errors never contain a password.
func config(address string) (*pgxpool.Config, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the url of the database is not well-formed")
	}
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		_, what, _ := strings.Cut(err.Error(), "`: ") // the part before shows the url
		return nil, fmt.Errorf("the url of the database: %s", what)
	}
	if !u.Query().Has("pool_max_conns") {
		c.MaxConns = maxConns
	}
	if c.MaxConns < minConns || c.MaxConns > maxConns {
		return nil, fmt.Errorf("the url of the database: pool_max_conns must be from %d to %d", minConns, maxConns)
	}
	if c.HealthCheckPeriod <= 0 { // the pool would panic
		return nil, errors.New("the url of the database: pool_health_check_period must be more than 0")
	}
	c.MaxConnIdleTime, c.PingTimeout = maxIdle, silence
	if c.ConnConfig.ConnectTimeout == 0 { // not set in the url
		c.ConnConfig.ConnectTimeout = silence
	}
	if c.ConnConfig.ValidateConnect == nil { // the url accepts any server; refuse a standby, but not a server that is temporarily read-only
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	c.ConnConfig.OnPgError = leaveReadOnly(c.ConnConfig.OnPgError)
	c.AfterConnect = prepareSession
	return c, nil
}

// leaveReadOnly closes a connection to a server that has become a standby: another host may have taken its place.
func leaveReadOnly(otherwise pgconn.PgErrorHandler) (keep pgconn.PgErrorHandler) {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != ReadOnly && otherwise(conn, err)
	}
}

func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	switch encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding {
	case "UTF8", "": // a pooler may not report it
	default:
		return fmt.Errorf("the encoding of the database is %s: it must be UTF8", encoding)
	}
	// As on SQLite, times are returned in UTC, regardless of the machine's time zone.
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	_, err := conn.PgConn().Exec(ctx, sessionSettings).ReadAll()
	return err
}
