package db

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db/postgres"
	"foyer/internal/infra/db/queue"
	"foyer/internal/infra/db/sqlite"
)

// retryAfter is when to retry while the database is unavailable: a failover takes a few seconds.
const retryAfter = 2 * time.Second

// unavailable is an error of a database that is unreachable, full, read-only or out of connections. Nothing has
// changed, so the caller can retry. Callers see a fault; the text of the error is for the log.
type unavailable struct{ error }

// Unwrap returns the error and the fault.
func (u unavailable) Unwrap() []error {
	return []error{u.error, &fault.Error{
		Kind: fault.Unavailable, Detail: "The database cannot answer just now, and nothing was changed: try again.",
		RetryAfter: retryAfter, Cause: u.error,
	}}
}

// uncertain is an error of a commit that may or may not have happened.
type uncertain struct{ error }

// Unwrap returns the error of the commit.
func (u uncertain) Unwrap() error { return u.error }

// afterCommit marks the error of a commit as uncertain, unless the database has said that it rolled the transaction back,
// or never received the commit.
func afterCommit(err error) error {
	if err == nil || errors.Is(err, errAborted) || pgconn.SafeToRetry(err) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" {
		return err
	}
	// SQLite writes the end of the transaction last: without room for it, nothing is committed.
	if sqlite.Says(err, sqlite.Full, sqlite.Busy) {
		return err
	}
	return uncertain{err}
}

// isUnavailable reports whether err is about the state of the database, not about the query.
func isUnavailable(err error) bool {
	if sqlite.Says(err, sqlite.Busy, sqlite.ReadOnly, sqlite.IOError, sqlite.Full, sqlite.CannotOpen) {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		return postgres.Says(err, postgres.ConnectionException, postgres.ReadOnly, postgres.IdleTooLong, postgres.TransactionTooLong,
			postgres.Rollback, postgres.OutOfResources, postgres.LockNotAvailable, postgres.Intervention, postgres.SystemError)
	}
	_, network := errors.AsType[net.Error](err)
	return network || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, queue.ErrClosed) || errors.Is(err, postgres.ErrNoConnection) || errors.Is(err, errLost) || errors.Is(err, context.DeadlineExceeded)
}
