package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"foyer/internal/base/fault"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// world is what placements depend on, read once for all of them.
type world struct {
	q        db.Querier
	erased   string // an organization whose apps are going to be gone; "": none is
	apps     map[int64]plugin.Runnable
	versions map[versionKey]*version
}

type versionKey struct{ appID, number int64 }

// version is a version that there is.
type version struct {
	plugin.Version
	schema schema
}

func newWorld(q db.Querier) *world {
	return &world{q: q, apps: map[int64]plugin.Runnable{}, versions: map[versionKey]*version{}}
}

// app returns an app of any organization, the zero Runnable if it is gone.
func (w *world) app(ctx context.Context, id int64) (plugin.Runnable, error) {
	if a, ok := w.apps[id]; ok {
		return a, nil
	}
	a, err := plugin.FindRunnable(ctx, w.q, id)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return plugin.Runnable{}, err
	}
	if a.OrganizationID == w.erased {
		a = plugin.Runnable{}
	}
	w.apps[id] = a
	return a, nil
}

// version returns a version of an app, nil if it is not kept.
func (w *world) version(ctx context.Context, appID, number int64) (*version, error) {
	key := versionKey{appID, number}
	if v, ok := w.versions[key]; ok || number == 0 {
		return v, nil
	}
	found, err := plugin.FindVersion(ctx, w.q, appID, number)
	switch {
	case errors.Is(err, db.ErrNoRow):
		w.versions[key] = nil
	case err != nil:
		return nil, err
	default:
		w.versions[key] = &version{found, newSchema(found.Schema)}
	}
	return w.versions[key], nil
}

// schema is what the values of a placement are checked against: that of the version it wants, or
// of an app that has no version yet.
func (w *world) schema(ctx context.Context, p Placement) (schema, error) {
	a, err := w.app(ctx, p.AppID)
	if err != nil {
		return nil, err
	}
	v, err := w.version(ctx, p.AppID, cmp.Or(p.Version, a.Current))
	if err != nil || v == nil {
		return newSchema(a.ConfigSchema), err
	}
	return v.schema, nil
}

// whyNotSeen is why an organization cannot run an app at all; "": it can.
func whyNotSeen(organizationID string, a plugin.Runnable) string {
	foreign := a.OrganizationID != organizationID
	switch {
	case a.ID == 0:
		return "The app is gone."
	case foreign && !a.IsGlobal:
		return "The app is no longer shared with this organization."
	case a.AppAccess < readable:
		return "The organization of the app may not use apps."
	case a.Disabled != "":
		return "The app is disabled: " + a.Disabled
	}
	return ""
}

// whyUnusable is why a version of an app can never run; "": it can, if its values are right.
func (v *version) whyUnusable(number int64) string {
	switch {
	case v == nil && number == 0:
		return "The app has no bundle."
	case v == nil:
		return fmt.Sprintf("Version %d is not kept any more.", number)
	case v.Bundle.SHA256 == "":
		return fmt.Sprintf("Version %d has no bundle.", number)
	case v.Withdrawn.Is():
		return fmt.Sprintf("Version %d is withdrawn: %s", number, v.Withdrawn.Reason)
	}
	return ""
}

// resolve finds out which version of its app a placement runs, and with which values: never one
// that they do not satisfy. The values of the others on the site take so many bytes.
func (w *world) resolve(ctx context.Context, s Site, p *Placement, others int) error {
	a, err := w.app(ctx, p.AppID)
	if err != nil {
		return err
	}
	wanted := cmp.Or(p.Version, a.Current)
	v, err := w.version(ctx, p.AppID, wanted)
	if err != nil {
		return err
	}
	checked, err := w.schema(ctx, *p)
	if err != nil {
		return err
	}
	given := readValues(p.Config)
	p.Running, p.Held, p.Values = 0, "", checked.shown(given)
	room := maxConfigBytes - others
	if !p.Enabled {
		room = max(len(p.Config), maxOffBytes)
	}
	if len(p.Values) > room {
		p.Values = "{}" // no page gets them
	}
	if !p.Enabled || !s.Enabled || s.access < readable {
		return nil
	}
	if p.Held = cmp.Or(whyNotSeen(s.OrganizationID, a), v.whyUnusable(wanted)); p.Held != "" {
		return nil
	}
	faults := v.schema.unfit(given, others)
	if len(faults) == 0 {
		p.Running, p.kept = wanted, wanted
		return nil
	}
	p.Held = heldBy(wanted, faults)
	last, err := w.version(ctx, p.AppID, p.kept)
	if err != nil {
		return err
	}
	if last.whyUnusable(p.kept) == "" && a.Shows(s.OrganizationID, last.Version) && len(last.schema.unfit(given, others)) == 0 {
		p.Running, p.Values = p.kept, last.schema.shown(given)
	}
	return nil
}

// maxHeldBy is how many faults of values a held placement names.
const maxHeldBy = 10

// heldBy says why the values do not satisfy a version.
func heldBy(number int64, faults fault.List) string {
	more := ""
	if n := len(faults) - maxHeldBy; n > 0 {
		faults, more = faults[:maxHeldBy], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("Version %d waits: %.2000s%s", number, faults.Error(), more)
}
