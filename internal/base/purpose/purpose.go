// Package purpose carries the purpose of work to the place where callers share slots by purpose.
package purpose

import "context"

// Erasing is the purpose of removing all that belongs to a user or an organization, which may take long.
const Erasing = "erasing"

type key struct{}

// With returns a context for work with a purpose.
func With(ctx context.Context, purpose string) context.Context {
	return context.WithValue(ctx, key{}, purpose)
}

// Of returns the purpose of a context; "" if With has not set it.
func Of(ctx context.Context) string {
	purpose, _ := ctx.Value(key{}).(string)
	return purpose
}
