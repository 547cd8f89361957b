package db

import (
	"context"
	"strings"

	"foyer/internal/infra/trace"
)

// counted runs a statement, counts it, and records its span if it is part of a trace. On PostgreSQL the span of a
// statement without a result is short: it is sent with the next one.
func (d *DB) counted(ctx context.Context, query string, run func() error) error {
	d.statements.Add(1)
	parent := trace.From(ctx)
	if parent == nil {
		return run()
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	s := parent.Child(verb)
	defer s.End()
	s.Set("db.system.name", d.engine())
	s.Set("db.query.text", query) // without its arguments
	err := run()
	if err != nil {
		s.Fail(err.Error())
	}
	return err
}

func (d *DB) engine() string {
	if d.sqlite != nil {
		return "sqlite"
	}
	return "postgresql"
}
