package plugin

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

// credentialsChanged says that credentials changed, and shows neither the old nor the new ones.
var credentialsChanged = activity.Changed("credentials", nil, "replaced")

// SetCredentials makes an installed plugin use the credentials and query of a url for its upstream from now on.
// Otherwise the url must be the one that it was installed from.
func (s Service) SetCredentials(ctx context.Context, c access.Caller, id int64, url string) (Plugin, error) {
	if err := MayManage(c); err != nil {
		return Plugin{}, err
	}
	remote, err := upstream.Parse(url)
	if err != nil {
		return Plugin{}, err
	}
	credentials, err := remote.Seal(s.Box)
	if err != nil {
		return Plugin{}, err
	}
	var p Plugin
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		c := c
		if p, c, err = s.lockOwnMatching(ctx, tx, c, id); err != nil {
			return err
		}
		o, err := originOf(ctx, tx, p.OrganizationID, p.ID)
		switch {
		case err != nil:
			return err
		case o.URLKey == "":
			return fault.Field(fault.Invalid, "url", "This app was not installed from a url.")
		case o.URLKey != remote.Key():
			return fault.Field(fault.Invalid, "url", "Must be the url that the app was installed from, %s, with its credentials.", p.URL)
		case s.comesFrom(p, o, url):
			return nil
		}
		o.Credentials = credentials
		if err := updateOrigin(ctx, tx, o); err != nil {
			return err
		}
		return s.save(ctx, tx, c, p, &p, activity.Updated, credentialsChanged)
	})
	return p, err
}
