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
	"github.com/jackc/pgx/v5/pgxpool"

	"foyer/internal/db/queue"
)

const (
	minPostgresConns = otherConns + 1
	maxPostgresConns = 20
	maxPostgresIdle  = 5 * time.Minute
	// otherConns are connections that InTx never takes, so that lanes and plain questions
	// need not wait behind transactions that wait for locks.
	otherConns = 4
	lanePart   = maxPostgresConns // the parts before it are for other transactions

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
	patience time.Duration       // maxMigration at first, then maxAnswer
	parts    chan int            // the free ones, see Tx.Part
	reads    *queue.Queue[*load] // of Quick
	writes   *queue.Queue[*load] // of InBlindTx
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
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	transactions := int(c.MaxConns) - otherConns
	p := &postgresDB{
		pool: pool, patience: maxMigration, parts: make(chan int, transactions),
		reads: startLane(ctx, pool), writes: startLane(ctx, pool),
	}
	for part := range transactions {
		p.parts <- part
	}
	return p, nil
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
	if c.ConnConfig.ValidateConnect == nil { // the url accepts any server; a standby will not do
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ConnConfig.OnPgError = leaveReadOnly(c.ConnConfig.OnPgError)
	c.AfterConnect = prepareSession
	return c, nil
}

// leaveReadOnly gives up a connection to a server that has become a standby: another host
// may have taken its place.
func leaveReadOnly(otherwise pgconn.PgErrorHandler) (keep pgconn.PgErrorHandler) {
	const readOnlyTransaction = "25006"
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
	ctx, cancel := context.WithTimeout(ctx, postgresSilence)
	defer cancel()
	_, err := conn.PgConn().Exec(ctx, postgresSession).ReadAll()
	return err
}

// close says goodbye to the server, if it answers: a lane would wait 10 seconds for one
// that does not, and the pool 15 for each connection.
func (p *postgresDB) close() {
	closed := make(chan struct{})
	go func() {
		p.reads.Close()
		p.writes.Close()
		p.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(postgresSilence):
	}
}

// ClockAhead is how far PostgreSQL's clock is ahead of this machine's; behind if
// negative. SQLite has no clock of its own.
func (d *DB) ClockAhead(ctx context.Context) (time.Duration, error) {
	if d.sqlite != nil {
		return 0, nil
	}
	there, err := One(ctx, d, Value[time.Time], `SELECT clock_timestamp()`)
	return there.Sub(d.Now()), err
}
