package site

import (
	"context"
	"errors"
	"testing"
	"time"

	"foyer/internal/infra/db"
)

// Whoever makes hours of the minutes of a site that is being deleted waits for that; neither stops the other.
func TestHoursDuringADeletion(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		hour := r.DB.Now().Add(-keepMinutes-time.Hour).Truncate(time.Hour).Unix() / 60
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			var all error
			for _, of := range []viewKey{{minute: hour, bucket: 1}, {minute: hour + 1, bucket: 1}, {minute: hour + 1, bucket: 2}} {
				of.siteID = s.ID
				all = errors.Join(all, addViews(ctx, tx, of, 1))
			}
			return all
		})
		if err != nil {
			r.Fatal(err)
		}
		start, end := r.meanwhile(func() error { return r.Tidy(r.Context()) })
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := lockedSite(ctx, tx, s.OrganizationID, s.ID); err != nil {
				return err
			}
			start()
			return removeSite(ctx, tx, s.OrganizationID, s.ID)
		})
		if err != nil {
			r.Error(err)
		}
		end()
		if rows := r.text(`SELECT COUNT(*) || '' FROM site_counts`); rows != "0" {
			r.Errorf("%s rows", rows)
		}
	})
}
