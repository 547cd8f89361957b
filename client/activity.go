package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
)

// Activity is one change of an app.
type Activity struct {
	ID int64 `json:"id"`
	// Activity is installed, updated, source_updated, upgraded, uninstalled, disabled, enabled, withdrawn, restored or
	// update_available.
	Activity string         `json:"activity"`
	User     ActivityUser   `json:"user"` // zero: the operator, or the server itself
	Scope    string         `json:"scope"`
	ItemID   string         `json:"item_id"` // the id of the app
	Detail   ActivityDetail `json:"detail"`
	// RequestID is the X-Request-Id of the request that made the change.
	RequestID string    `json:"request_id"`
	CreatedAt time.Time `json:"created_at"`
}

// ActivityUser is the user who made a change.
type ActivityUser struct {
	ID        int64  `json:"id"`
	Email     string `json:"email"`
	FirstName string `json:"first_name"`
}

// ActivityDetail is what changed.
type ActivityDetail struct {
	Name    string   `json:"name"` // of the app
	Changes []Change `json:"changes"`
}

// Change is one field that changed, with its JSON before and after.
type Change struct {
	Action string          `json:"action"`
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// ActivityFilter chooses activity. Its zero value chooses all.
type ActivityFilter struct {
	AppID int64  // 0: of every app
	User  string // an e-mail address; empty: by everybody
}

func (f ActivityFilter) query() url.Values {
	query := url.Values{}
	setInt(query, "app", f.AppID)
	set(query, "user", f.User)
	return query
}

const activity = apps + "/activity"

// ListActivity reads one page of activity, newest first.
func (o *Organization) ListActivity(ctx context.Context, f ActivityFilter, r Range) (AppPage[Activity], error) {
	return list[AppPage[Activity]](ctx, o.at, activity, f.query(), r)
}

// AllActivity reads the activity on the organization's apps, newest first.
func (o *Organization) AllActivity(ctx context.Context, f ActivityFilter) iter.Seq2[Activity, error] {
	return all[Activity](ctx, o.at, activity, f.query())
}
