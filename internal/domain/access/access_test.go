package access_test

import (
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
)

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	// Made by another implementation of the same rule.
	const known = "foy_" + "0000000000000000000000000000000000000" + "3jnQlY"
	for range 100 {
		key := access.NewKey()
		if !access.WellFormed(key) || len(key) != 47 {
			t.Fatalf("%s is not well-formed", key)
		}
		for _, wrong := range []string{key[1:], key + "0", strings.ToLower(key) + "x", "", swapLast(key), " " + key, access.KeyPrefix} {
			if access.WellFormed(wrong) {
				t.Errorf("%q is well-formed", wrong)
			}
		}
	}
	if !access.WellFormed(known) {
		t.Errorf("%s is not well-formed", known)
	}
}

// swapLast swaps two neighbouring characters, a common typing error.
func swapLast(key string) string {
	for i := len(key) - 2; i > 4; i-- {
		if key[i] != key[i+1] {
			return key[:i] + key[i+1:i+2] + key[i:i+1] + key[i+2:]
		}
	}
	return ""
}

// A key is no longer valid once one of its characters is replaced.
func FuzzWellFormed(f *testing.F) {
	f.Add(uint(0), "F")
	f.Add(uint(4), "")
	f.Add(uint(20), "00")
	f.Add(uint(46), "\x00")
	f.Fuzz(func(t *testing.T, at uint, instead string) {
		key := access.NewKey()
		i := int(at % uint(len(key)))
		changed := key[:i] + instead + key[i+1:]
		if access.WellFormed(changed) != (changed == key) {
			t.Errorf("%q, made from %q, is taken for well-formed: %t", changed, key, access.WellFormed(changed))
		}
	})
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out string }{
		{"*", "*"},
		{"plugin:write", "plugin:write"},
		{"plugin:read plugin:write", "plugin:write"},
		{"organization_member:read plugin:read", "plugin:read organization_member:read"},
		{"plugin:write organization_member:write", "plugin:write organization_member:write"},
	} {
		s, err := access.ParseScopes(strings.Fields(c.in))
		if err != nil || s.String() != c.out {
			t.Errorf("%s: got %s, %v; want %s", c.in, s, err, c.out)
		}
	}
	if access.PluginRead.Includes(access.PluginWrite) || !access.PluginWrite.Includes(access.PluginRead) ||
		access.PluginWrite.Includes(access.MemberRead) || !access.All.Includes(access.MemberWrite) {
		t.Error("write must include read, and * all, and nothing else anything")
	}
	for _, wrong := range [][]string{nil, {"plugin"}, {"plugin:read", ""}} {
		if _, err := access.ParseScopes(wrong); err == nil || fault.Of(err)[0].Field != "scopes" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Keys of others are for admins, and only by a key that may do all.
func TestMayManageKeys(t *testing.T) {
	t.Parallel()
	for _, level := range []access.Level{access.Member, access.Admin, access.Owner} {
		for _, scope := range []access.Scope{access.All, access.MemberWrite | access.PluginWrite} {
			err := access.MayManageKeys(access.Caller{Level: level, Scope: scope})
			if may := level >= access.Admin && scope == access.All; (err == nil) != may || err != nil && !fault.Is(err, fault.Denied) {
				t.Errorf("%s with %s: %v", level, scope, err)
			}
		}
	}
}
