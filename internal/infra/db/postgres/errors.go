package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of errors, and classes of codes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	ConnectionException = "08"
	ForeignKeyViolation = "23503"
	UniqueViolation     = "23505"
	ReadOnly            = "25006"
	IdleTooLong         = "25P03"
	TransactionTooLong  = "25P04" // since PostgreSQL 17
	Rollback            = "40"    // such as that of a deadlock
	NotPrivileged       = "42501"
	OutOfResources      = "53"
	DiskFull            = "53100"
	TooManyConnections  = "53300"
	LockNotAvailable    = "55P03"
	Intervention        = "57" // of an operator
	SystemError         = "58"
)

// Says reports whether err is an error from PostgreSQL with one of the codes or classes.
func Says(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.ContainsFunc(codes, func(code string) bool { return strings.HasPrefix(e.Code, code) })
}
