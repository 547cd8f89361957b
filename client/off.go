package client

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Off says who stopped an app or a version, and why.
type Off struct {
	Reason string    `json:"reason"`
	By     *User     `json:"by"` // nil: another organization's global app
	At     time.Time `json:"at"`
}

// DisableApp stops an app on all pages of all organizations.
func (o *Organization) DisableApp(ctx context.Context, id int64, reason string) (App, error) {
	return ask[App](ctx, o.at, http.MethodPost, appPath(id)+"/disable", nil, map[string]string{"reason": reason})
}

// EnableApp lets an app that was disabled run again.
func (o *Organization) EnableApp(ctx context.Context, id int64) (App, error) {
	return ask[App](ctx, o.at, http.MethodPost, appPath(id)+"/enable", nil, nil)
}

// Withdrawal says why a version is withdrawn.
type Withdrawal struct {
	Reason string `json:"reason"`
	// Version is the version that the app moves to if it is at the withdrawn one.
	Version int64 `json:"version,omitempty"`
}

func versionPath(id, version int64) string {
	return versionsPath(id) + "/" + strconv.FormatInt(version, 10)
}

// WithdrawVersion stops a version on all pages, and the app's other versions with the same bundle.
func (o *Organization) WithdrawVersion(ctx context.Context, id, version int64, w Withdrawal) (Version, error) {
	return ask[Version](ctx, o.at, http.MethodPost, versionPath(id, version)+"/withdraw", nil, w)
}

// RestoreVersion lets a version that was withdrawn run again.
func (o *Organization) RestoreVersion(ctx context.Context, id, version int64) (Version, error) {
	return ask[Version](ctx, o.at, http.MethodPost, versionPath(id, version)+"/restore", nil, nil)
}
