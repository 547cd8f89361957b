package activity

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzCanonical compares our form of an entry with that of a library for RFC 8785.
func FuzzCanonical(f *testing.F) {
	f.Add("App", "[]", "", "")
	f.Add("a\"\\\b\t\n\f\r\x00\x1f\x7f\u2028é😀", `[{"before":1e400}]`, "7", "hash")
	f.Fuzz(func(t *testing.T, name, changes, digits, nameHash string) {
		var n json.Number
		if !utf8.ValidString(name) || !utf8.ValidString(changes) || !utf8.ValidString(nameHash) ||
			digits != "" && (len(digits) > 15 || digits[0] == '-' || json.Unmarshal([]byte(digits), &n) != nil || n.String() != digits) {
			return
		}
		for _, c := range digits {
			if c < '0' || c > '9' {
				return
			}
		}
		c := chained{
			Stored: Stored{
				Entry:   Entry{ID: 1, OrganizationID: ours, Scope: Plugin, ItemID: name, Verb: Created, Name: name, CreatedAt: time.UnixMicro(1)},
				Changes: changes, Number: 5,
			},
			userID: digits, keyID: digits, digests: digests{nameHash: nameHash},
		}
		got := c.appendCanonical(nil)
		want := jsontext.Value(got).Clone()
		if err := want.Canonicalize(); err != nil || string(want) != string(got) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
		var back struct {
			Changes string `json:"changes"`
			Name    string `json:"name"`
		}
		if err := json.Unmarshal(got, &back); err != nil || back.Changes != changes || nameHash == "" && back.Name != name {
			t.Errorf("%s: %+v, %v", got, back, err)
		}
	})
}
