package backup

// Errors of Make and Restore.
var (
	ErrNotSQLite = errNotSQLite
	ErrInUse     = errInUse
	ErrNoBackup  = errNoBackup
	ErrEmpty     = errEmpty
	ErrOvertaken = errOvertaken
)

// AddDigest makes a file look like a complete backup.
var AddDigest = addDigest
