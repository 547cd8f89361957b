package access

import "context"

// Operator returns the identity of an operator, who works on the database itself and acts as a member of an
// organization.
func Operator(c Caller) *Identity {
	return &Identity{UserID: c.UserID, Scope: c.Scope, grants: []grant{{level: c.Level, org: c.Organization}}}
}

// asOperator is the context key of the identity of an operator.
type asOperator struct{}

// WithOperator returns the context of a request that an operator makes. No request that comes
// over the network has one.
func WithOperator(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, asOperator{}, id)
}

// OperatorOf returns the identity of the operator who makes a request.
func OperatorOf(ctx context.Context) (id *Identity, ok bool) {
	id, ok = ctx.Value(asOperator{}).(*Identity)
	return id, ok
}
