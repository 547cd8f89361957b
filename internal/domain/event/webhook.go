package event

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// Webhook is a url that events are sent to.
type Webhook struct {
	ID             int64
	OrganizationID string
	URL            string
	Events         []string // types, or all of a kind, such as app.*
	Description    string
	Enabled        bool
	DisabledReason string // why foyer switched it off; "": it did not
	Held           bool   // since a backup was restored: nothing is sent until an operator says so
	Secret         string // shown when it is made, and when it is rotated
	CreatedAt      time.Time
	UpdatedAt      time.Time

	sealed       string
	oldSecrets   []oldSecret
	position     int64     // the number of the last entry that was looked at
	failingSince time.Time // zero: the webhook does not fail
	leaseUntil   time.Time // a server sends to it until then
	took         int64     // milliseconds that its last delivery took, if it was read by due
}

// oldSecret is a replaced secret, which still signs until a time.
type oldSecret struct {
	Sealed string    `json:"sealed"`
	Until  time.Time `json:"until"`
}

// fails reports whether all recent tries have failed.
func (w *Webhook) fails() bool { return !w.failingSince.IsZero() }

// changedSince reports whether a webhook was changed since it was read.
func (w *Webhook) changedSince(read Webhook) bool { return !w.UpdatedAt.Equal(read.UpdatedAt) }

// HeldReason is why nothing is sent to a webhook that is held.
const HeldReason = "Held since a backup was restored: the command foyer admin resume lets all webhooks go on."

// whyNotSent returns why nothing is sent to the webhook, or nil.
func (w *Webhook) whyNotSent() error {
	switch {
	case w.Held:
		return fault.New(fault.Invalid, HeldReason)
	case !w.Enabled:
		return fault.New(fault.Invalid, "The webhook is switched off: switch it on first.")
	}
	return nil
}

// wants reports whether an event is to be sent to the webhook. A test is only for the webhook that it names.
func (w *Webhook) wants(ev Event, itemID string) bool {
	if ev.Type == Test {
		return itemID == strconv.FormatInt(w.ID, 10)
	}
	return takes(w.Events, ev.Type)
}

// Draft holds the fields that a caller may set.
type Draft struct {
	URL         patch.Field[string]
	Events      patch.Field[[]string]
	Description patch.Field[string]
	Enabled     patch.Field[bool]
}

const (
	maxWebhooks    = 50   // of an organization
	maxURL         = 2000 // characters
	maxDescription = 500
	maxEvents      = 50
)

// checkNew is check for the draft of a new webhook, which must name a url and events.
func (d *Draft) checkNew(refused func(*url.URL) error) error {
	var faults fault.List
	if !d.URL.Set {
		faults.Add(fault.Field(fault.Required, "url", "Must be given: where events are sent to."))
	}
	if !d.Events.Set {
		faults.Add(fault.Field(fault.Required, "events", "Must be given: the types of events to send."))
	}
	faults.Add(d.check(refused))
	return faults.Err()
}

// check returns what is wrong with the draft by itself; refused returns why nothing may be sent to a url.
func (d *Draft) check(refused func(*url.URL) error) error {
	var faults fault.List
	faults.Add(checkURL(d.URL, refused))
	faults.Add(checkEvents(d.Events))
	faults.Add(patch.Text("description", d.Description, maxDescription))
	faults.Add(d.Enabled.Check("enabled"))
	return faults.Err()
}

func checkURL(f patch.Field[string], refused func(*url.URL) error) error {
	if !f.Set {
		return nil
	}
	if err := patch.RequiredText("url", f, maxURL); err != nil {
		return err
	}
	u, err := url.Parse(f.Value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Hostname() == "" {
		return fault.Field(fault.Invalid, "url", "Must be a url like https://example.com/hook.")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && err != nil {
		return fault.Field(fault.Invalid, "url", "Must have a port up to 65535, not %s.", u.Port())
	}
	if u.User != nil || u.Fragment != "" {
		return fault.Field(fault.Invalid, "url", "Must have neither credentials nor a fragment: everybody who sees the webhook sees its url.")
	}
	return refused(u)
}

func checkEvents(f patch.Field[[]string]) error {
	if !f.Set {
		return nil
	}
	if err := f.Check("events"); err != nil {
		return err
	}
	if len(f.Value) == 0 || len(f.Value) > maxEvents {
		return fault.Field(fault.Invalid, "events", "Must be a list of 1 to %d types of events.", maxEvents)
	}
	choices := Choices()
	for _, name := range f.Value {
		if !slices.Contains(choices, name) {
			return fault.Field(fault.InvalidChoice, "events", "%.100q is no type of event: give %s.", name, strings.Join(choices, ", "))
		}
	}
	return nil
}

// Choices lists what a webhook can ask for: types, in the order of their names, and all of a kind, such as app.*.
func Choices() []string {
	var all []string
	for _, name := range slices.Compact(slices.Sorted(maps.Values(types))) {
		kind, _, _ := strings.Cut(name, ".")
		if every := kind + ".*"; !slices.Contains(all, every) {
			all = append(all, every)
		}
		all = append(all, name)
	}
	return all
}

// apply sets the fields that the draft names. It does not switch on a webhook that is held.
func (d *Draft) apply(w *Webhook) error {
	if w.Held && d.Enabled.Set && d.Enabled.Value {
		return fault.Field(fault.Invalid, "enabled", "%s", HeldReason)
	}
	d.URL.Apply(&w.URL)
	d.Events.Apply(&w.Events)
	d.Description.Apply(&w.Description)
	if !w.Held { // else it is already shown as off
		d.Enabled.Apply(&w.Enabled)
	}
	return nil
}

// State is how far a delivery has come.
type State string

// The states of deliveries.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID        int64
	WebhookID int64
	Sequence  int64
	EventID   string
	Type      string
	State     State
	Attempts  int
	Status    int    // of the last answer; 0: there was none
	Error     string // a class, as api.md lists them; "": none
	Duration  int64  // of the last try, in milliseconds
	CreatedAt time.Time
	TriedAt   time.Time // the last try
	DueAt     time.Time // zero: there is no further try

	organizationID string
	wasDue         time.Time // DueAt, before it was changed
	failure        error     // what failed on our side in the last try
}

// newDelivery returns the delivery of an event that has not been sent to a webhook yet.
func newDelivery(w Webhook, ev Event, now time.Time) Delivery {
	return Delivery{
		WebhookID: w.ID, organizationID: w.OrganizationID, Sequence: ev.Sequence, EventID: ev.ID, Type: ev.Type, State: Pending, CreatedAt: now,
	}
}

func encode[T string | oldSecret](list []T) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // a list of texts and times can always be encoded
	}
	return string(text)
}
