package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"regexp"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/oidc"
)

// FlowTime is how long somebody may take to sign in at the provider.
const FlowTime = 10 * time.Minute

// flow is a sign-in that is under way at the identity provider. The browser keeps it, sealed.
type flow struct {
	oidc.Secrets
	Then  string    `json:"then"`  // the page to go on to
	Until time.Time `json:"until"` // when it is over
}

// Begin returns the url of the identity provider to send a browser to, and what the browser is to keep meanwhile. then
// is the page to go on to.
func (s Service) Begin(ctx context.Context, then string) (url, kept string, err error) {
	if s.Provider == nil {
		return "", "", fault.New(fault.Denied, "This server has no identity provider to sign in by.")
	}
	f := flow{oidc.Secrets{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}, then, s.DB.Now().Add(FlowTime)}
	if url, err = s.Provider.URL(ctx, f.Secrets); err != nil {
		return "", "", err
	}
	kept, err = s.seal(flowUse, f)
	return url, kept, err
}

// Return is what a browser brings back from the identity provider.
type Return struct {
	Kept      string // what Begin gave it to keep
	State     string
	Code      string
	ErrorCode string // in place of a code; not shown unless it is well-formed
}

// Finish signs in the person whom the provider has sent back, once on all servers.
func (s Service) Finish(ctx context.Context, r Return, d access.SessionDraft) (in Entered, then string, err error) {
	f, err := s.take(ctx, r.Kept, r.State)
	if err != nil {
		return Entered{}, "", err
	}
	if r.ErrorCode != "" || r.Code == "" {
		return Entered{}, "", refused(r.ErrorCode)
	}
	who, err := s.Provider.Redeem(ctx, r.Code, f.Secrets)
	if err != nil {
		return Entered{}, "", err
	}
	in, err = s.ByProvider(ctx, who, d)
	return in, f.Then, err
}

// ErrNoFlow refuses an answer of the identity provider to another sign-in than the one that the browser keeps.
var ErrNoFlow = fault.New(fault.Invalid, "This answer of the identity provider does not belong to a sign-in that this browser began in the last 10 minutes, or it was already used: begin again.")

// take returns the flow that comes back with a state, once.
func (s Service) take(ctx context.Context, kept, state string) (flow, error) {
	var f flow
	if s.Provider == nil || !s.unseal(flowUse, kept, &f) || !s.DB.Now().Before(f.Until) || subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 {
		return flow{}, ErrNoFlow
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return insertState(ctx, tx, state, f.Until) })
	if errors.Is(err, db.ErrUnique) {
		return flow{}, ErrNoFlow
	}
	return f, err
}

// errorCode is a code of RFC 6749 section 4.1.2.1.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

func refused(code string) error {
	switch {
	case code == "access_denied":
		return fault.New(fault.Invalid, "The identity provider did not let you in, or you said no there: try again, or ask its operator.")
	case errorCode.MatchString(code):
		return fault.New(fault.Invalid, "The identity provider refused: %s. Try again, or tell the operator of this server.", code)
	}
	return fault.New(fault.Invalid, "The identity provider sent you back without an answer: try again.")
}
