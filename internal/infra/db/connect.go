package db

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
	minPostgresConns = otherConns + 1
	maxPostgresConns = 20
	maxPostgresIdle  = 5 * time.Minute
	// otherConns are connections that InTx never takes, so that other queries need not
	// wait behind transactions that wait for locks.
	otherConns = 4

	// postgresSilence is how long a host may be silent when a connection is made, tried
	// or closed, before it counts as lost.
	postgresSilence = 5 * time.Second
	// maxAnswer is how long a query may take, or a transaction once it has a connection:
	// TCP by itself waits a quarter of an hour for a host that has vanished.
	maxAnswer = 30 * time.Second
	// maxMigration is maxAnswer while the schema is brought up to date, which may change
	// all rows.
	maxMigration = 24 * time.Hour
)

// postgresSession is what foyer relies on, whatever the role, the database or the url say.
// A transaction that is idle for 10 seconds belongs to a server that is frozen or cut off,
// and would hold its locks; one that waits as long for a lock, such as that of somebody at
// a prompt, would hold a connection.
const postgresSession = `
	SET client_encoding = 'UTF8';
	SET default_transaction_isolation = 'read committed';
	SET idle_in_transaction_session_timeout = '10s';
	SET lock_timeout = '10s'`

// postgresDB is a database on a server.
type postgresDB struct {
	pool     *pgxpool.Pool
	patience time.Duration // maxMigration at first, then maxAnswer
	slots    *slots
}

// openPostgres connects to a server; pgx keeps statements prepared by itself.
func openPostgres(ctx context.Context, address string) (*postgresDB, error) {
	c, err := postgresConfig(address)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	connections := int(c.MaxConns)
	p := &postgresDB{pool: pool, patience: maxMigration, slots: newSlots(connections, connections-otherConns)}
	conn, err := p.acquire(ctx, false)
	if err != nil {
		pool.Close()
		return nil, err
	}
	err = p.checkPooler(ctx, conn.Conn)
	p.release(conn)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return p, nil
}

var errShared = errors.New("a pooler in between shares one session among clients, whose settings and locks would mix: " +
	"foyer needs sessions of its own (PgBouncer: pool_mode = session)")

// checkPooler refuses a pooler that gives two connections the same session. It does so again
// and again only while nobody else uses it, so it is tried a few times.
func (p *postgresDB) checkPooler(ctx context.Context, conn *pgxpool.Conn) error {
	const tries = 3
	other, err := p.pool.Acquire(ctx)
	if isCrowded(err) {
		return nil // no pooler says that while it shares
	}
	if err != nil {
		return err
	}
	defer other.Release()
	for range tries {
		here, err := sessionOf(ctx, conn)
		if err != nil {
			return err
		}
		there, err := sessionOf(ctx, other)
		if err != nil {
			return err
		}
		if here == there {
			return errShared
		}
	}
	return nil
}

// sessionOf asks without a prepared statement, of which such a pooler may know nothing.
func sessionOf(ctx context.Context, conn *pgxpool.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, postgresSilence)
	defer cancel()
	results, err := conn.Conn().PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

// CheckURL finds what is wrong with the url of a database on a server.
func CheckURL(address string) error {
	_, err := postgresConfig(address)
	return err
}

// postgresConfig reads the url of a database. Its errors never hold a password.
func postgresConfig(address string) (*pgxpool.Config, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the url of the database is not well-formed")
	}
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		_, what, _ := strings.Cut(err.Error(), "`: ") // before that it shows the url
		return nil, fmt.Errorf("the url of the database: %s", what)
	}
	if !u.Query().Has("pool_max_conns") {
		c.MaxConns = maxPostgresConns
	}
	if c.MaxConns < minPostgresConns || c.MaxConns > maxPostgresConns {
		return nil, fmt.Errorf("the url of the database: pool_max_conns must be from %d to %d", minPostgresConns, maxPostgresConns)
	}
	c.MaxConnIdleTime, c.PingTimeout = maxPostgresIdle, postgresSilence
	if c.ConnConfig.ConnectTimeout == 0 { // not in the url
		c.ConnConfig.ConnectTimeout = postgresSilence
	}
	if c.ConnConfig.ValidateConnect == nil { // the url accepts any server; a standby will not do, one that is read-only for a time will
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	c.ConnConfig.OnPgError = leaveReadOnly(c.ConnConfig.OnPgError)
	c.AfterConnect = prepareSession
	return c, nil
}

// leaveReadOnly gives up a connection to a server that has become a standby: another host
// may have taken its place.
func leaveReadOnly(otherwise pgconn.PgErrorHandler) (keep pgconn.PgErrorHandler) {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnlyTransaction && otherwise(conn, err)
	}
}

func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	switch encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding {
	case "UTF8", "": // a pooler may not tell
	default:
		return fmt.Errorf("the encoding of the database is %s: it must be UTF8", encoding)
	}
	// As on SQLite, times come back in UTC, whatever the machine's time zone is.
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	ctx, cancel := context.WithTimeout(ctx, postgresSilence)
	defer cancel()
	_, err := conn.PgConn().Exec(ctx, postgresSession).ReadAll()
	return err
}

// close ends the connections in order, if the server answers: the pool would wait 15 seconds
// for each connection to one that does not.
func (p *postgresDB) close() {
	closed := make(chan struct{})
	go func() {
		p.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(postgresSilence):
	}
}
