package fair

import "context"

// For returns a context for work of a purpose, where callers share slots by what they are for.
func For(ctx context.Context, purpose string) context.Context {
	return context.WithValue(ctx, key{}, purpose)
}

// Purpose is what a context's work is for, "" unless For has said it.
func Purpose(ctx context.Context) string {
	purpose, _ := ctx.Value(key{}).(string)
	return purpose
}

type key struct{}
