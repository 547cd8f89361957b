package loader_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// wrongManifests makes manifests for the sites WRONG0 to WRONGn: correct ones in which a value is replaced or removed,
// or answers of other servers. The same seed makes the same manifests.
func wrongManifests(f *foyer, seed uint64, n int) []string {
	random := rand.New(rand.NewPCG(seed, 0))
	good := f.document(1, f.logging(1, "one"), f.logging(2, "two"))
	deep := strings.Repeat("[", 5000)
	whole := []string{
		"", " ", "null", "true", "7", `"text"`, "[]", "{}", "[[]]", "{", `{"apps"`, "\x00", "\xff\xfe", "<!doctype html><h1>Login</h1>", "NaN", "undefined",
		deep + strings.Repeat("]", 5000), deep, `{"apps":{"length":-1}}`, `{"__proto__":{"apps":[]}}`, strings.Repeat(" ", 1<<20) + "{}", good + good, `"` + strings.Repeat("x", 1<<20) + `"`,
	}
	all := make([]string, n)
	for i := range all {
		site := fmt.Sprintf("WRONG%d", i)
		switch {
		case i < len(whole):
			all[i] = whole[i]
		case i%10 == 0: // truncated
			all[i] = strings.ReplaceAll(good, f.token, site)[:random.IntN(len(good))]
		default:
			var document any
			_ = json.Unmarshal([]byte(strings.ReplaceAll(good, f.token, site)), &document)
			for range 1 + random.IntN(3) {
				document = spoil(random, document)
			}
			body, _ := json.Marshal(document)
			all[i] = string(body)
		}
	}
	return all
}

// spoil replaces or removes one value in a document, at random.
func spoil(random *rand.Rand, document any) any {
	if random.IntN(6) == 0 {
		return junk(random)
	}
	switch v := document.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for _, key := range []string{"site", "revision", "sample", "apps", "id", "name", "version", "url", "integrity", "config", "paths"} {
			if _, ok := v[key]; ok {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return junk(random)
		}
		key := keys[random.IntN(len(keys))]
		if random.IntN(4) == 0 {
			delete(v, key)
		} else {
			v[key] = spoil(random, v[key])
		}
		return v
	case []any:
		if len(v) == 0 {
			return []any{junk(random)}
		}
		at := random.IntN(len(v))
		v[at] = spoil(random, v[at])
		return v
	}
	return junk(random)
}

func junk(random *rand.Rand) any {
	all := []any{
		nil, true, false, 0, -1, 1e308, 1.5, "", " ", "x", "null", "constructor", "__proto__", "javascript:alert(1)", "data:text/javascript,alert(1)", "http://[", "//", "sha384-", "sha384-x",
		"\u0000", "\u2028", strings.Repeat("*", 300),
		[]any{},
		[]any{nil},
		[]any{[]any{}},
		map[string]any{},
		map[string]any{"length": 3},
		map[string]any{"then": 1},
		map[string]any{"every": true},
	}
	return all[random.IntN(len(all))]
}
