package terminal

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type named struct {
	Name string `json:"name"`
}

type timed struct {
	named
	At     time.Time       `json:"at"`
	Ended  *time.Time      `json:"ended"`
	Never  *time.Time      `json:"never"`
	Secret string          `json:"secret,omitempty"`
	Raw    json.RawMessage `json:"raw"`
	Parts  []timed         `json:"parts"`
	Texts  []string        `json:"texts"`
	Counts map[string]int  `json:"counts"`
	hidden int
}

// The JSON equals that of encoding/json, except that fractions of times keep their zeros.
func TestTimesAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	at := func(microseconds int) time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, microseconds*1000, time.UTC)
	}
	of := func(at time.Time) timed {
		return timed{
			named: named{"<a&b>"}, At: at, Ended: &at, Secret: "s", Raw: json.RawMessage(`{"at":"2026-01-02T03:04:05Z"}`),
			Parts: []timed{{At: at}, {Parts: []timed{}}}, Texts: []string{"2026-01-02T03:04:05Z"}, hidden: 1,
		}
	}
	got, err := appendJSON(nil, reflect.ValueOf(of(at(120000))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"<a&b>","at":"2026-01-02T03:04:05.120000Z","ended":"2026-01-02T03:04:05.120000Z","never":null,"secret":"s",` +
		`"raw":{"at":"2026-01-02T03:04:05Z"},"parts":[` +
		`{"name":"","at":"2026-01-02T03:04:05.120000Z","ended":null,"never":null,"raw":null,"parts":null,"texts":null,"counts":null},` +
		`{"name":"","at":null,"ended":null,"never":null,"raw":null,"parts":[],"texts":null,"counts":null}],` +
		`"texts":["2026-01-02T03:04:05Z"],"counts":null}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
