package plugin

import (
	"reflect"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/configschema"
	"foyer/internal/infra/db"
)

// fields lists the fields of an app, in the order of section 2.1 of the contract. Code that treats all fields alike
// uses this list. docs/architecture.md says how to add a field.
var fields = []field{
	text("plugin_type", func(p *Plugin) *string { return (*string)(&p.Type) }, nil, nil), // see Draft.changedType
	text("name", func(p *Plugin) *string { return &p.Name }, func(d *Draft) *patch.Field[string] { return &d.Name }, required(maxName)),
	text("description", func(p *Plugin) *string { return &p.Description }, func(d *Draft) *patch.Field[string] { return &d.Description }, optional(maxDescription)),
	text("url", func(p *Plugin) *string { return &p.URL }, nil, nil), // see Service.install
	text("icon", func(p *Plugin) *string { return &p.Icon }, func(d *Draft) *patch.Field[string] { return &d.Icon }, optional(maxIcon)),
	configSchema(),
	text("tag", func(p *Plugin) *string { return &p.Tag }, func(d *Draft) *patch.Field[string] { return &d.Tag }, optional(maxTag)),
	text("latest_tag", func(p *Plugin) *string { return &p.LatestTag }, nil, nil),
	flag("is_global", func(p *Plugin) *bool { return &p.IsGlobal }, func(d *Draft) *patch.Field[bool] { return &d.IsGlobal }),
	structure("capabilities", func(p *Plugin) *string { return &p.Capabilities }, func(d *Draft) *patch.Field[string] { return &d.Capabilities }),
	structure("metrics", func(p *Plugin) *string { return &p.Metrics }, func(d *Draft) *patch.Field[string] { return &d.Metrics }),
	structure("public_jobs", func(p *Plugin) *string { return &p.PublicJobs }, func(d *Draft) *patch.Field[string] { return &d.PublicJobs }),
}

// field is one field of an app.
type field struct {
	name   string             // in requests, answers and the activity, and of its column
	fault  func(*Draft) error // what is wrong with the field in a draft, for any app
	apply  func(*Draft, *Plugin)
	column func(*Plugin) any // what it is scanned into
	value  func(*Plugin) any // what is stored
	shown  func(*Plugin) any // what the activity shows
	size   func(*Plugin) int // of its text, in bytes
	same   func(a, b *Plugin) bool
}

// newField returns a field. Callers may set it if draft is given.
func newField[T comparable](
	name string, at func(*Plugin) *T, size func(*Plugin) int, draft func(*Draft) *patch.Field[T], check func(name string, f patch.Field[T]) error,
) field {
	f := field{
		name:   name,
		fault:  func(*Draft) error { return nil },
		apply:  func(*Draft, *Plugin) {},
		column: func(p *Plugin) any { return at(p) },
		value:  func(p *Plugin) any { return *at(p) },
		shown:  func(p *Plugin) any { return *at(p) },
		size:   size,
		same:   func(a, b *Plugin) bool { return *at(a) == *at(b) },
	}
	if draft != nil {
		f.fault = func(d *Draft) error { return check(name, *draft(d)) }
		f.apply = func(d *Draft, p *Plugin) { draft(d).Apply(at(p)) }
	}
	return f
}

func text(name string, at func(*Plugin) *string, draft func(*Draft) *patch.Field[string], check func(name string, f patch.Field[string]) error) field {
	return newField(name, at, func(p *Plugin) int { return len(*at(p)) }, draft, check)
}

// structure returns a field that holds JSON, as it was sent; "" is null. The same JSON with other escapes changes nothing.
func structure(name string, at func(*Plugin) *string, draft func(*Draft) *patch.Field[string]) field {
	f := text(name, at, draft, checkStructure)
	f.apply = func(d *Draft, p *Plugin) {
		if sent := draft(d); sent.Set && !patch.SameJSON(sent.Value, *at(p)) {
			sent.Apply(at(p))
		}
	}
	f.column = func(p *Plugin) any { return db.Null(at(p)) }
	f.value = f.column
	f.shown = func(p *Plugin) any { return activity.JSON(*at(p)) }
	return f
}

// checkStructure bounds the size of JSON: a body that has source may be larger.
func checkStructure(name string, f patch.Field[string]) error {
	if f.Fault == nil && len(f.Value) > maxStructure {
		return fault.Field(fault.TooLong, name, "Must be at most %d MiB of JSON.", maxStructure>>20)
	}
	return f.Fault
}

func configSchema() field {
	at := func(p *Plugin) *string { return &p.ConfigSchema }
	f := structure("config_schema", at, func(d *Draft) *patch.Field[string] { return &d.ConfigSchema })
	f.shown = func(p *Plugin) any { return activity.JSON(configschema.Masked(*at(p))) }
	return f
}

func flag(name string, at func(*Plugin) *bool, draft func(*Draft) *patch.Field[bool]) field {
	return newField(name, at, func(*Plugin) int { return 1 }, draft, func(name string, f patch.Field[bool]) error { return f.Check(name) })
}

func required(limit int) func(string, patch.Field[string]) error {
	return func(name string, f patch.Field[string]) error { return patch.RequiredText(name, f, limit) }
}

func optional(limit int) func(string, patch.Field[string]) error {
	return func(name string, f patch.Field[string]) error { return patch.Text(name, f, limit) }
}

// faults lists what is wrong with the draft alone, in the order of the contract.
func (d *Draft) faults() fault.List {
	var faults fault.List
	for _, f := range fields {
		faults.Add(f.fault(d))
	}
	return faults
}

// apply sets the fields that the draft names.
func (d *Draft) apply(p *Plugin) {
	for _, f := range fields {
		f.apply(d, p)
	}
}

// difference lists the fields that differ.
func difference(before, after *Plugin) []activity.Change {
	var changes []activity.Change
	for _, f := range fields {
		if !f.same(before, after) {
			old, now := f.shown(before), f.shown(after)
			if reflect.DeepEqual(old, now) { // only what is masked has changed
				old, now = configschema.Mask, configschema.Mask+" (changed)"
			}
			changes = append(changes, activity.Changed(f.name, old, now))
		}
	}
	return changes
}

// size is about how many bytes a plugin takes.
func (p Plugin) size() int {
	const fixed = 400
	total := fixed
	for _, f := range fields {
		total += f.size(&p)
	}
	return total
}

// eachField joins, with commas, what say returns for each field, given its name and its index.
func eachField(say func(name string, i int) string) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = say(f.name, i)
	}
	return strings.Join(all, ", ")
}
