package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"
)

const sessions = self + "/sessions"

// Session is a browser in which the user of the key is signed in.
type Session struct {
	ID         int64     `json:"id"`
	Method     string    `json:"method"` // of signing in: oidc, mail or key
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"` // to 5 minutes
	ExpiresAt  time.Time `json:"expires_at"`   // unless it is used
	Address    string    `json:"address"`      // of the browser when it signed in
	UserAgent  string    `json:"user_agent"`
	Current    bool      `json:"current"` // the session that makes this request
}

// ListSessions reads one page of the user's sessions, in the order they began.
func (c *Client) ListSessions(ctx context.Context, r Range) (Page[Session], error) {
	return list[Page[Session]](ctx, c.at(sessions), "", nil, r)
}

// AllSessions reads the user's sessions, in the order they began.
func (c *Client) AllSessions(ctx context.Context) iter.Seq2[Session, error] {
	return all[Session](ctx, c.at(sessions), "", nil)
}

// GetSession reads one of the user's sessions.
func (c *Client) GetSession(ctx context.Context, id int64) (Session, error) {
	return ask[Session](ctx, c.at(sessions), http.MethodGet, "/"+strconv.FormatInt(id, 10), nil, nil)
}

// DeleteSession signs out one of the user's browsers.
func (c *Client) DeleteSession(ctx context.Context, id int64) error {
	return c.at(sessions).call(ctx, http.MethodDelete, "/"+strconv.FormatInt(id, 10), nil, nil, nil)
}

// DeleteSessions signs the user out everywhere.
func (c *Client) DeleteSessions(ctx context.Context) error {
	return c.at(sessions).call(ctx, http.MethodDelete, "", nil, nil, nil)
}

// RequestSignIn requests a mail with a link that signs the user of an address in to the console. No key is needed. The
// answer does not tell whether such a user exists.
func (c *Client) RequestSignIn(ctx context.Context, email string) error {
	return c.unkeyed("/api/signin").call(ctx, http.MethodPost, "", nil, map[string]string{"email": email}, nil)
}
