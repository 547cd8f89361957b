package db

import (
	"context"
	"database/sql"
)

// postgres runs statements on a pool or in a transaction. pgx keeps them prepared
// by itself.
type postgres struct {
	on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
}

func (p postgres) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	rows, err := p.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (p postgres) exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := p.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
