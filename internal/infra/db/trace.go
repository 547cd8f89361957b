package db

import (
	"context"
	"strings"

	"foyer/internal/infra/trace"
)

// countStatement counts a statement, and starts its span if it is part of a trace. On PostgreSQL the span of a statement
// without a result is short: it is sent with the next one.
func (d *DB) countStatement(ctx context.Context, query string) *trace.Span {
	d.statements.Add(1)
	parent := trace.From(ctx)
	if parent == nil {
		return nil
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	s := parent.Child(verb)
	s.Set("db.system.name", d.engine())
	s.Set("db.query.text", query) // without its arguments
	return s
}

// ended ends the span of a statement.
func ended(s *trace.Span, err error) {
	if err != nil {
		s.Fail(err.Error())
	}
	s.End()
}

func (d *DB) engine() string {
	if d.sqlite != nil {
		return "sqlite"
	}
	return "postgresql"
}
