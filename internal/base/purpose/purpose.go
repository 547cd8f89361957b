// Package purpose carries what work is for, to where callers share slots by that.
package purpose

import "context"

type key struct{}

// With returns a context for work of a purpose.
func With(ctx context.Context, purpose string) context.Context {
	return context.WithValue(ctx, key{}, purpose)
}

// Of is what the work of a context is for; "" unless With has said it.
func Of(ctx context.Context) string {
	purpose, _ := ctx.Value(key{}).(string)
	return purpose
}
