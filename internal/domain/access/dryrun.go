package access

import (
	"context"

	"foyer/internal/infra/db"
)

// WithDryRun returns the context of a request that changes nothing: what it stores is undone.
func WithDryRun(ctx context.Context) context.Context { return db.WithDryRun(ctx) }

// IsDryRun reports whether what a request stores is undone: it must not show what it makes up.
func IsDryRun(ctx context.Context) bool { return db.IsDryRun(ctx) }
