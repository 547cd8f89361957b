package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"foyer/internal/base/cache"
	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// dependencies are what placements depend on, each read once for all of them, except schemas beyond maxSchemas.
type dependencies struct {
	q        db.Querier
	erased   string // an organization whose apps are about to be erased; "": none
	follows  bool   // a schema or values may have changed: update the values shown for placements that do not run, too
	apps     map[int64]plugin.Runnable
	versions map[versionKey]*plugin.Version
	schemas  cache.Cache[versionKey, sized] // number 0: the app's own
}

// sized is a schema and the size of its text in bytes.
type sized struct {
	schema
	size int
}

type versionKey struct{ appID, number int64 }

// maxSchemas bounds the schemas in dependencies, in bytes: a site has up to 200, of 1 MiB each.
const maxSchemas = 4 << 20

func newDependencies(q db.Querier) *dependencies {
	return &dependencies{
		q: q, apps: map[int64]plugin.Runnable{}, versions: map[versionKey]*plugin.Version{},
		schemas: cache.Cache[versionKey, sized]{Max: maxSchemas, Size: func(s sized) int { return s.size }},
	}
}

// app returns an app of any organization, or the zero Runnable if it was deleted.
func (deps *dependencies) app(ctx context.Context, id int64) (plugin.Runnable, error) {
	if a, ok := deps.apps[id]; ok {
		return a, nil
	}
	a, err := plugin.FindRunnable(ctx, deps.q, id)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return plugin.Runnable{}, err
	}
	if a.OrganizationID == deps.erased {
		a = plugin.Runnable{}
	}
	deps.apps[id] = a
	return a, nil
}

// version returns a version of an app, or nil if it is not kept.
func (deps *dependencies) version(ctx context.Context, appID, number int64) (*plugin.Version, error) {
	key := versionKey{appID, number}
	if v, ok := deps.versions[key]; ok || number == 0 {
		return v, nil
	}
	found, err := plugin.FindVersion(ctx, deps.q, appID, number)
	switch {
	case errors.Is(err, db.ErrNoRow):
		deps.versions[key] = nil
	case err != nil:
		return nil, err
	default:
		deps.versions[key] = &found
	}
	return deps.versions[key], nil
}

// schema returns the schema of a version; for number 0, that of the app.
func (deps *dependencies) schema(ctx context.Context, appID, number int64) (schema, error) {
	key := versionKey{appID, number}
	found, ok := deps.schemas.Get(key, cache.Unversioned)
	if ok {
		return found.schema, nil
	}
	err := inflight.InPart(ctx, func(ctx context.Context) error {
		text, err := plugin.FindSchema(ctx, deps.q, appID, number)
		if err != nil {
			return err
		}
		found = sized{newSchema(text), len(text)}
		deps.schemas.Put(key, cache.Unversioned, found)
		return nil
	})
	return found.schema, err
}

// wanted returns the schema for checking the values of a placement: that of the wanted version or, if the app has no
// version yet, the app's own. It is empty if the app is no longer shared with the organization.
func (deps *dependencies) wanted(ctx context.Context, p Placement) (schema, error) {
	a, err := deps.app(ctx, p.AppID)
	if err != nil || !a.Seen(p.OrganizationID) {
		return nil, err
	}
	number := cmp.Or(p.Version, a.Current)
	v, err := deps.version(ctx, p.AppID, number)
	if err != nil {
		return nil, err
	}
	if v == nil {
		number = 0
	}
	return deps.schema(ctx, p.AppID, number)
}

// whyNotSeen returns why an organization cannot run an app at all; "": it can.
func whyNotSeen(organizationID string, a plugin.Runnable) string {
	switch {
	case a.ID == 0:
		return "The app is gone."
	case !a.Seen(organizationID):
		return "The app is no longer shared with this organization."
	case a.AppAccess < access.ReadApps:
		return "The organization of the app may not use apps."
	case a.Disabled != "":
		return "The app is disabled: " + a.Disabled
	}
	return ""
}

// whyUnusable returns why a version of an app can never run; "": it can, if its values are right. v is nil if the
// version is not kept.
func whyUnusable(v *plugin.Version, number int64) string {
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

// resolve finds out which version of its app a placement runs, and with which values: never a version that they do not
// satisfy. others is how many bytes the other values on the site take. If the placement is off or can never run, the
// schema does not matter: switching something off reads none.
func (deps *dependencies) resolve(ctx context.Context, s Site, p *Placement, others int) error {
	a, err := deps.app(ctx, p.AppID)
	if err != nil {
		return err
	}
	wanted := cmp.Or(p.Version, a.Current)
	v, err := deps.version(ctx, p.AppID, wanted)
	if err != nil {
		return err
	}
	p.Running, p.Held = 0, ""
	on := p.Enabled && s.Enabled && s.access >= access.ReadApps
	if on {
		p.Held = cmp.Or(whyNotSeen(s.OrganizationID, a), whyUnusable(v, wanted))
	}
	runs := on && p.Held == ""
	if !runs && !deps.follows {
		p.fit(others)
		return nil
	}
	checked, err := deps.wanted(ctx, *p)
	if err != nil {
		return err
	}
	given := readValues(p.Config)
	p.Values = checked.shown(given)
	p.fit(others)
	if !runs {
		return nil
	}
	faults := checked.unfit(given, others)
	if len(faults) == 0 {
		p.Running, p.kept = wanted, wanted
		return nil
	}
	p.Held = heldBy(wanted, faults)
	return deps.runKept(ctx, s, p, given, others)
}

// fit removes the values shown if there is no room for them.
func (p *Placement) fit(others int) {
	room := maxConfigBytes - others
	if !p.Enabled {
		room = max(len(p.Config), maxOffBytes)
	}
	if len(p.Values) > room {
		p.Values = "{}" // no page gets them
	}
}

// runKept makes a held placement run the version it last ran, if it can.
func (deps *dependencies) runKept(ctx context.Context, s Site, p *Placement, given values, others int) error {
	a, err := deps.app(ctx, p.AppID)
	if err != nil {
		return err
	}
	v, err := deps.version(ctx, p.AppID, p.kept)
	if err != nil || whyUnusable(v, p.kept) != "" || !a.Shows(s.OrganizationID, *v) {
		return err
	}
	checked, err := deps.schema(ctx, p.AppID, p.kept)
	if err == nil && len(checked.unfit(given, others)) == 0 {
		p.Running, p.Values = p.kept, checked.shown(given)
	}
	return err
}

// maxHeldBy is how many faults the reason of a held placement names.
const maxHeldBy = 10

// heldBy returns why the values do not satisfy a version.
func heldBy(number int64, faults fault.List) string {
	more := ""
	if n := len(faults) - maxHeldBy; n > 0 {
		faults, more = faults[:maxHeldBy], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("Version %d waits: %.2000s%s", number, faults.Error(), more)
}
