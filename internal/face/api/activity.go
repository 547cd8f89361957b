package api

import (
	"net/http"
	"net/url"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/configschema"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/wire"
)

func (a *API) listActivity(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	var faults fault.List
	query := r.URL.Query()
	p, err := wire.ReadPage(query)
	faults.Add(err)
	app, user, err := activityFilter(query)
	faults.Add(err)
	if err := faults.Err(); err != nil {
		return err
	}
	found, err := a.Plugins.Activity(r.Context(), c, app, user, p)
	if err != nil {
		return err
	}
	first := emptyApp(c)
	if len(found.Items) > 0 {
		if first, err = a.appOf(r, c, found.Items[0]); err != nil {
			return err
		}
		first.ConfigSchema = configschema.Masked(first.ConfigSchema)
	}
	return wire.WritePageAfter(w, r, fieldsOf(first), a.BaseURL, p, found, appendActivity)
}

// activityFilter reads the filter of the activity.
func activityFilter(q url.Values) (app, user string, err error) {
	var faults fault.List
	faults.Add(notEmpty(q, "app", "user"))
	if app = q.Get("app"); app != "" {
		_, err = number("app", "the id of an app, a whole number", app)
		faults.Add(err)
	}
	if user = q.Get("user"); user != "" {
		user, err = org.ParseEmail("user", user)
		faults.Add(err)
	}
	return app, user, faults.Err()
}

// appOf returns the app that an entry is about. A deleted one has only its id, name and type.
func (a *API) appOf(r *http.Request, c access.Caller, e activity.Stored) (plugin.Plugin, error) {
	id, err := strconv.ParseInt(e.ItemID, 10, 64)
	if err != nil {
		return plugin.Plugin{}, err
	}
	p, err := a.Plugins.Get(r.Context(), c, id)
	if fault.Is(err, fault.NotFound) {
		p = emptyApp(c)
		p.ID, p.Name = id, e.Name
		p.Type, err = a.Plugins.TypeOfDeleted(r.Context(), c, id)
	}
	return p, err
}

// appendActivity appends one entry of the activity.
func appendActivity(b []byte, e activity.Stored) []byte {
	return append(appendEntry(append(b, '{'), e), '}')
}

func appendEntry(b []byte, e activity.Stored) []byte {
	b = wire.AppendInt(b, "id", e.ID)
	b = wire.AppendField(b, "activity", string(e.Verb))
	b = appendActor(b, e.User)
	b = wire.AppendField(b, "scope", string(e.Scope))
	b = wire.AppendField(b, "item_id", e.ItemID)
	b = append(wire.AppendName(b, "detail"), '{')
	b = wire.AppendField(b, "name", e.Name)
	b = append(wire.AppendJSON(b, "changes", e.Changes), '}')
	b = wire.AppendField(b, "request_id", e.RequestID)
	return wire.AppendTime(b, "created_at", e.CreatedAt)
}

// appendActor appends the user who made a change, or null if no user did.
func appendActor(b []byte, u activity.User) []byte {
	b = wire.AppendName(b, "user")
	if u.ID == 0 {
		return append(b, "null"...)
	}
	b = wire.AppendInt(append(b, '{'), "id", u.ID)
	b = wire.AppendField(b, "email", u.Email)
	return append(wire.AppendField(b, "first_name", u.FirstName), '}')
}
