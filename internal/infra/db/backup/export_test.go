package backup

// Errors of Make and Restore.
var (
	ErrNotSQLite = errNotSQLite
	ErrInUse     = errInUse
	ErrNoBackup  = errNoBackup
	ErrEmpty     = errEmpty
)
