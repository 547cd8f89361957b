package plugin

import (
	"context"
	"errors"
	"strconv"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// Off says why something may not run: a plugin that is disabled, or a version that is withdrawn. The zero Off means
// that it may run.
type Off struct {
	Reason string
	By     org.User // zero: hidden
	At     time.Time
}

// Is reports whether it is off.
func (o Off) Is() bool { return !o.At.IsZero() }

// Disable stops a plugin on all pages of all organizations. A plugin that is already disabled is not changed.
func (s Service) Disable(ctx context.Context, c access.Caller, id int64, reason patch.Field[string]) (Plugin, error) {
	why, err := activity.CheckReason(reason)
	if err != nil {
		return Plugin{}, err
	}
	return s.setDisabled(ctx, c, id, Off{Reason: why, By: org.User{ID: c.UserID}, At: s.DB.Now()}, activity.Disabled)
}

// Enable lets a disabled plugin run again.
func (s Service) Enable(ctx context.Context, c access.Caller, id int64) (Plugin, error) {
	return s.setDisabled(ctx, c, id, Off{}, activity.Enabled)
}

// setDisabled disables or enables a plugin.
func (s Service) setDisabled(ctx context.Context, c access.Caller, id int64, to Off, verb activity.Verb) (p Plugin, err error) {
	if err := MayManage(c); err != nil {
		return Plugin{}, err
	}
	defer s.Bundles.Invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c := c
		if p, c, err = s.lockOwnMatching(ctx, tx, c, id); err != nil {
			return err
		}
		before, err := findDisabled(ctx, tx, p.OrganizationID, id)
		if err != nil {
			return err
		}
		if before.Is() == to.Is() {
			return s.save(ctx, tx, c, p, &p, verb)
		}
		if p.DisabledBy, err = updateDisabled(ctx, tx, p, to); err != nil {
			return err
		}
		return s.save(ctx, tx, c, p, &p, verb, activity.Reason("reason", before.Reason, to.Reason))
	})
	return p, err
}

// Withdrawal is a request to withdraw a version.
type Withdrawal struct {
	Number int64
	Reason patch.Field[string]
	GoTo   patch.Field[int64] // the number of the version to go to if this one is current; absent or null: not given
}

// check returns the reason, as it is stored.
func (w Withdrawal) check() (why string, err error) {
	var wrong fault.List
	why, err = activity.CheckReason(w.Reason)
	wrong.Add(err)
	wrong.Add(w.GoTo.Fault)
	if w.GoTo.Or(1) < 1 {
		wrong.Add(fault.Field(fault.Invalid, "version", "Must be the number of a version."))
	}
	return why, wrong.Err()
}

// Withdraw stops a version, and the plugin's other versions with the same bundle, on all pages.
func (s Service) Withdraw(ctx context.Context, c access.Caller, id int64, w Withdrawal) (Version, error) {
	why, err := w.check()
	if err != nil {
		return Version{}, err
	}
	off := Off{Reason: why, By: org.User{ID: c.UserID}, At: s.DB.Now()}
	return s.setWithdrawn(ctx, c, id, w.Number, off, w.GoTo.Value)
}

// sameRun reports whether withdrawing v also withdraws other.
func sameRun(other, v Version) bool {
	return other.Number == v.Number || v.Bundle.SHA256 != "" && other.Bundle.SHA256 == v.Bundle.SHA256
}

// moveOff takes a plugin to another version if it is at one that is about to be withdrawn.
func (s Service) moveOff(ctx context.Context, tx *db.Tx, c access.Caller, p *Plugin, withdrawn Version, number int64) error {
	o, current, err := originAndVersion(ctx, tx, *p)
	if err != nil || !sameRun(current, withdrawn) {
		return err
	}
	if number == 0 {
		return fault.Field(fault.Required, "version", "Must be given: another version for the app to go to, since it is at the one to withdraw, or at one with the same bundle.")
	}
	next, err := namedVersion(ctx, tx, p.ID, number)
	if err != nil {
		return err
	}
	if sameRun(next, current) {
		return fault.Field(fault.Invalid, "version", "Version %d has the same bundle, and is withdrawn with it: name another one.", number)
	}
	to, err := storedTarget(ctx, tx, next)
	if err != nil {
		return err
	}
	before := *p
	p.leave(to)
	if next, err = s.makeCurrent(ctx, tx, c, p, &o, current, to, Move{Version: patch.Of(strconv.FormatInt(number, 10))}); err != nil {
		return err
	}
	return s.save(ctx, tx, c, before, p, activity.Upgraded, changedSource(current, next))
}

// Restore lets a withdrawn version, and those with the same bundle, run again.
func (s Service) Restore(ctx context.Context, c access.Caller, id, number int64) (Version, error) {
	return s.setWithdrawn(ctx, c, id, number, Off{}, 0)
}

// setWithdrawn withdraws or restores a version. A plugin that is at a version to be withdrawn goes to the one numbered
// goTo.
func (s Service) setWithdrawn(ctx context.Context, c access.Caller, id, number int64, to Off, goTo int64) (v Version, err error) {
	if err := MayManage(c); err != nil {
		return Version{}, err
	}
	defer s.Bundles.Invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		v, err = s.setWithdrawnIn(ctx, tx, c, id, number, to, goTo)
		return err
	})
	return v, err
}

// setWithdrawnIn is setWithdrawn in a transaction.
func (s Service) setWithdrawnIn(ctx context.Context, tx *db.Tx, c access.Caller, id, number int64, to Off, goTo int64) (Version, error) {
	p, c, err := s.lockOwn(ctx, tx, c, id)
	if err != nil {
		return Version{}, err
	}
	v, err := versionAsked(ctx, tx, id, number)
	if err != nil || v.Withdrawn.Is() == to.Is() {
		return v, err
	}
	verb := activity.Restored
	if to.Is() {
		verb = activity.Withdrawn
		if err := s.moveOff(ctx, tx, c, &p, v, goTo); err != nil {
			return Version{}, err
		}
	}
	if err := updateWithdrawn(ctx, tx, id, v, to); err != nil {
		return Version{}, err
	}
	if err := s.follow(ctx, tx, c, id); err != nil {
		return Version{}, err
	}
	why := activity.Reason("versions."+strconv.FormatInt(number, 10)+".reason", v.Withdrawn.Reason, to.Reason)
	if err := activity.Record(ctx, tx, c.Did(activityEntry(p, verb, []activity.Change{why})), s.DB.Now()); err != nil {
		return Version{}, err
	}
	if v, err = findVersionAndUsers(ctx, tx, id, number, ""); err != nil {
		return Version{}, err
	}
	return v, access.KeepAnswer(ctx, tx, v)
}

// versionAsked reads the version that a request names, and checks the request's preconditions. It locks the users that
// the answer shows, so that they are not erased meanwhile.
func versionAsked(ctx context.Context, tx *db.Tx, id, number int64) (Version, error) {
	v, err := findVersionAndUsers(ctx, tx, id, number, " FOR KEY SHARE OF u")
	if err != nil {
		return Version{}, access.OrNotFound(err)
	}
	return v, precondition.Check(ctx, v)
}

// refuseWithdrawn refuses a withdrawn version that a field of the request names.
func (v *Version) refuseWithdrawn(field string) error {
	if !v.Withdrawn.Is() {
		return nil
	}
	return fault.Field(fault.Invalid, field, "Version %d is withdrawn: %s", v.Number, v.Withdrawn.Reason)
}

// refuseWithdrawnBundle refuses a bundle that a withdrawn version of the plugin has.
func refuseWithdrawnBundle(ctx context.Context, q db.Querier, pluginID int64, b Bundle) error {
	if b.SHA256 == "" {
		return nil
	}
	number, err := findWithdrawn(ctx, q, pluginID, b.SHA256)
	if errors.Is(err, db.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Invalid, "This compiles to the bundle of version %d, which is withdrawn: restore that one first.", number)
}
