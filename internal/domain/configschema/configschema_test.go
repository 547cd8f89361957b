package configschema

import (
	"encoding/json"
	"strings"
	"testing"
)

// Secret defaults are masked in place; everything else is as it was sent.
func TestMasked(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:     ``,
		`null`: `null`,
		`[ {"key":"a", "default" : "pw" ,"secret":true}, {"key":"b","default":1.0} ]`: `[ {"key":"a", "default" : "********" ,"secret":true}, {"key":"b","default":1.0} ]`,
		`{"a":{"secret":true,"default":{"deep":["pw"]}},"b":{"default":"x"}}`:         `{"a":{"secret":true,"default":"********"},"b":{"default":"x"}}`,
		`[{"key":"a","default":"pw"},{"key":"a","secret":true}]`:                      `[{"key":"a","default":"********"},{"key":"a","secret":true}]`,
		`[{"secret":true,"Default":"pw","default":null}]`:                             `[{"secret":true,"Default":"********","default":null}]`,
		`[5,{"key":"a","secret":true,"default":"é\"\\pw"}]`:                           `[5,{"key":"a","secret":true,"default":"********"}]`,
		`[{"key":"a","secret":true}]`:                                                 `[{"key":"a","secret":true}]`,
		`[{"key":"a","type":"attachment","default":"pw"}]`:                            `[{"key":"a","type":"attachment","default":"********"}]`,
	} {
		if got := Masked(schema); got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
	}
}

func FuzzMasked(f *testing.F) {
	f.Add(`[{"key":"a","secret":true,"default":"pw"}]`)
	f.Add(`{"a":{"secret":true,"default":[{"x":1}]},"b":3}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		got := Masked(schema)
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", schema, got)
		}
		if Masked(got) != got || !strings.Contains(got, Mask) && got != schema {
			t.Errorf("%q became %q, and then %q", schema, got, Masked(got))
		}
	})
}

// A field needs a value if pages get it and it has no default.
func TestNeeded(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{
		`{"key":"a","site":true,"required":true}`:                           true,
		`{"key":"a","site":true}`:                                           false,
		`{"key":"a","required":true}`:                                       false,
		`{"key":"a","site":true,"required":true,"default":0}`:               false,
		`{"key":"a","site":true,"required":true,"secret":true}`:             false,
		`{"key":"a","site":true,"required":true,"type":"attachment"}`:       false,
		`{"key":"a","site":true,"required":true,"default":null,"x":"...."}`: true,
		`{"key":"a","site":true,"required":true},{"key":"a","secret":true}`: false,
	} {
		if got := Fields("[" + field + "]")[0].Needed(); got != want {
			t.Errorf("%s: needed %t", field, got)
		}
	}
}
