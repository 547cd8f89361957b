package cli

import (
	"context"
	"iter"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

// thing is an item of an organization that an argument names.
type thing[T any] struct {
	kind, name string
	find       func(context.Context, *client.Organization, string) (id int64, err error)
	view       terminal.View[T]
}

// on does something with the item.
func (t thing[T]) on(ctx context.Context, o *client.Organization, do func(id int64) error) error {
	id, err := t.find(ctx, o, t.name)
	if err != nil {
		return err
	}
	return orMissing(do(id), t.kind, t.name)
}

// with does something with the item, and shows the result.
func (t thing[T]) with(ctx context.Context, o *client.Organization, out *terminal.Output, do func(id int64) (T, error)) error {
	return t.on(ctx, o, func(id int64) error {
		item, err := do(id)
		if err != nil {
			return err
		}
		return t.view.One(out, item)
	})
}

// show shows the item, or its ETag.
func (t thing[T]) show(ctx context.Context, o *client.Organization, out *terminal.Output, e etag, get func(*client.Organization, int64) (T, error)) error {
	return t.on(ctx, o, func(id int64) error {
		var tag string
		item, err := get(o.With(client.ETag(&tag)), id)
		if err != nil {
			return err
		}
		return one(out, t.view, item, e, tag)
	})
}

func (t thing[T]) remove(ctx context.Context, o *client.Organization, out *terminal.Output, do func(ctx context.Context, id int64) error) error {
	return t.on(ctx, o, func(id int64) error {
		if err := do(ctx, id); err != nil {
			return err
		}
		return out.Say(map[string]any{"id": id}, "Deleted %s %d.", t.kind, id)
	})
}

// listOf shows a list of an item.
func listOf[T, U any](ctx context.Context, o *client.Organization, out *terminal.Output, of thing[T], v terminal.View[U], list func(context.Context, int64) iter.Seq2[U, error]) error {
	return of.on(ctx, o, func(id int64) error {
		return all(out, v, list(ctx, id))
	})
}
