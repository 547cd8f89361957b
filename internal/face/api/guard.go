package api

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/panics"
	"foyer/internal/base/precondition"
	"foyer/internal/base/purpose"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// peerLimit is how many requests per minute an address may make without a valid key.
const peerLimit = 600

// protect answers a route: it admits the caller (admit), reads the request's options (prepare), replays or claims an
// Idempotency-Key (withIdempotencyKey), checks If-Match (expect), and calls the handler. The scopes share the
// connections to the database: requests that read apps leave some for those that read members.
func (a *API) protect(route Route) http.Handler {
	scope := route.Scope.String()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.answerPanic(w, r)
		r = r.WithContext(purpose.With(r.Context(), scope))
		caller, err := a.admit(w, r, route)
		if err == nil {
			err = a.do(w, r, route, caller)                           //nolint:contextcheck // r has it
			if route.isPublic() && err != nil && !fault.IsOurs(err) { // successful requests are not counted
				err = cmp.Or(a.LimitPeer(w, r), err)
			}
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}

// do answers an admitted caller with the route's handler.
func (a *API) do(w http.ResponseWriter, r *http.Request, route Route, caller access.Caller) error {
	r, err := prepare(w, r, route)
	if err != nil {
		return err
	}
	if values := r.Header[idempotencyKey]; values != nil && route.takesIdempotencyKey() {
		name, err := readIdempotencyKey(values)
		if err != nil {
			return err
		}
		if !dryrun.Is(r.Context()) {
			return a.withIdempotencyKey(w, r, route, caller, name)
		}
	}
	return a.carryOut(w, r, route, caller)
}

// forgotten is logged if a change did not call precondition.Check, which fails the tests.
const forgotten = "a change did not check If-Match"

// carryOut answers a request if the object is as the request expects. A panic is a failure like any other: the
// Idempotency-Key is given up.
func (a *API) carryOut(w http.ResponseWriter, r *http.Request, route Route, caller access.Caller) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panics.From(p)
		}
	}()
	r, err = a.expect(r, route, caller)
	if err != nil {
		return err
	}
	err = route.do(w, r, caller)
	if err == nil && precondition.Forgotten(r.Context()) {
		a.Log.ErrorContext(r.Context(), forgotten, "method", route.Method, "path", route.Path)
	}
	return err
}

// admit returns the caller of a request. It checks in the order of docs/api.md: key, rate, scope, organization, access.
func (a *API) admit(w http.ResponseWriter, r *http.Request, route Route) (access.Caller, error) {
	if route.isPublic() {
		return access.Caller{RequestID: RequestID(w), Address: a.keptAddress(r)}, a.CheckPeer(w, r)
	}
	identity, err := a.identify(r)
	if err != nil && !fault.IsOurs(err) {
		err = cmp.Or(a.LimitPeer(w, r), err)
	}
	if err != nil {
		return access.Caller{}, err
	}
	rec := recorderOf(w)
	if key, ok := bearer(r); ok {
		rec.key = access.Prefix(key)
	}
	inflight.From(r.Context()).Of(identity.UserID)
	if err := a.LimitUser(w, identity.UserID); err != nil {
		return access.Caller{}, err
	}
	caller, err := a.allow(r, route, identity)
	rec.organization = caller.Organization.ID
	caller.RequestID, caller.Address = RequestID(w), a.keptAddress(r)
	return caller, err
}

// keptAddress returns the client's address if the activity stores addresses.
func (a *API) keptAddress(r *http.Request) string {
	if !a.KeepAddresses {
		return ""
	}
	return a.ClientAddress(r)
}

// allow returns the identity as a caller of the route, or an error if it may not use the route.
func (a *API) allow(r *http.Request, route Route, identity *access.Identity) (access.Caller, error) {
	if err := identity.Scope.Require(route.Scope); err != nil {
		return access.Caller{}, err
	}
	caller := identity.Caller()
	if id := r.PathValue("organization_id"); id != "" {
		var err error
		if caller, err = a.Keys.Enter(r.Context(), identity, id); err != nil {
			return access.Caller{}, err
		}
	}
	return caller, route.may(caller)
}

func (a *API) identify(r *http.Request) (*access.Identity, error) {
	if session, ok := access.SessionOf(r.Context()); ok {
		return a.Keys.IdentifySession(r.Context(), session)
	}
	if operator, ok := access.OperatorOf(r.Context()); ok {
		return operator, nil
	}
	if r.Header.Get("Authorization") == "" {
		return nil, fault.New(fault.NotAuthenticated, "An API key is needed: send the header Authorization: Bearer <API_KEY>.")
	}
	key, ok := bearer(r)
	if !ok {
		return nil, fault.New(fault.AuthenticationFailed, "The word before the key must be Bearer: send the header Authorization: Bearer <API_KEY>.")
	}
	return a.Keys.Identify(r.Context(), key)
}

// bearer returns the key of a request, if it is sent as a bearer token.
func bearer(r *http.Request) (key string, ok bool) {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(key), strings.EqualFold(scheme, "Bearer") // RFC 9110 section 11.1: case-insensitive
}

// LimitUser counts a request of a user, and refuses it if the user has made too many.
func (a *API) LimitUser(w http.ResponseWriter, userID int64) error {
	return a.byUser.take(w, userID, a.Keys.Now())
}

// LimitPeer counts a request without a valid key, and refuses it if its address has made too many.
func (a *API) LimitPeer(w http.ResponseWriter, r *http.Request) error {
	return a.byAddress.take(w, a.peer(r), a.Keys.Now())
}

// CheckPeer refuses a request if its address has made too many without a valid key. If the key then turns out wrong,
// LimitPeer must count the request.
func (a *API) CheckPeer(w http.ResponseWriter, r *http.Request) error {
	return a.byAddress.check(w, a.peer(r), a.Keys.Now())
}

// peer returns the network that a request counts against. It logs an untrusted proxy once: all clients behind it would
// share its limit.
func (a *API) peer(r *http.Request) string {
	if r.Header.Get("X-Forwarded-For") != "" && !isTrusted(peerAddress(r), a.TrustedProxies) {
		if a.untrusted.CompareAndSwap(false, true) {
			a.Log.WarnContext(r.Context(), "X-Forwarded-For is not believed, since it comes from an address that FOYER_TRUSTED_PROXIES does not name: "+
				"if that is your proxy, all who come through it share one limit", "peer", peerAddress(r).String())
		}
	}
	return a.ClientNetwork(r)
}

// ClientAddress returns the address of a request's client.
func (a *API) ClientAddress(r *http.Request) string {
	return clientAddress(r, a.TrustedProxies).String()
}

// ClientNetwork returns the network of a request's client, which limits per client count by.
func (a *API) ClientNetwork(r *http.Request) string {
	return network(clientAddress(r, a.TrustedProxies))
}

// answerPanic answers for a handler that panics. The program also calls its own handlers, perhaps on a goroutine
// without another recover, where a panic would end the program.
func (a *API) answerPanic(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler: // from fail
		panic(p)
	default:
		a.fail(w, r, panics.From(p))
	}
}

// fail answers with err. It aborts an answer that has begun, so that no client takes it for a complete one. A panic is
// reported even if the client disconnected.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if _, ok := errors.AsType[panics.Error](err); !ok && wire.DropIfDisconnected(w, r, err) {
		return
	}
	a.Report(w, r, err)
	if rec := recorderOf(w); rec.begun {
		rec.Code = wire.Code(err)
		panic(http.ErrAbortHandler)
	}
	wire.WriteError(w, err)
}

// Report logs the hidden cause of err, if there is one, with the request's id.
func (a *API) Report(w http.ResponseWriter, r *http.Request, err error) {
	first := fault.Of(err)[0]
	if first.Cause == nil {
		return
	}
	level := slog.LevelWarn // an upstream's fault
	if fault.IsOurs(first) {
		level = slog.LevelError
	}
	a.Log.LogAttrs(r.Context(), level, "request failed", append(a.about(w, r), slog.String("error", first.Cause.Error()))...)
}
