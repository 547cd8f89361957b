package backup

// What is refused.
var (
	ErrNotSQLite = errNotSQLite
	ErrInUse     = errInUse
	ErrNoBackup  = errNoBackup
	ErrEmpty     = errEmpty
)
