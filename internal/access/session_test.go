package access

import (
	"strings"
	"testing"
	"time"

	"foyer/internal/fault"
)

func newSessions(tb testing.TB, secret string) Sessions {
	tb.Helper()
	s, err := NewSessions(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s, key, now := newSessions(t, "a secret of the tests"), NewKey(), time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	session := s.Seal(key, now)
	if strings.Contains(session, key) || session == s.Seal(key, now) {
		t.Errorf("%s tells of the key, or is the same each time", session)
	}
	if got, err := s.Open(session, now.Add(SessionTime-time.Second)); got != key || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	changed := []byte(session)
	changed[len(changed)/2] ^= 1
	for name, open := range map[string]func() (string, error){
		"over":           func() (string, error) { return s.Open(session, now.Add(SessionTime)) },
		"another secret": func() (string, error) { return newSessions(t, "another").Open(session, now) },
		"changed":        func() (string, error) { return s.Open(string(changed), now) },
		"cut off":        func() (string, error) { return s.Open(session[:20], now) },
		"a key":          func() (string, error) { return s.Open(key, now) },
		"empty":          func() (string, error) { return s.Open("", now) },
	} {
		if got, err := open(); got != "" || !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzOpenSession(f *testing.F) {
	s, now := newSessions(f, "a secret of the tests"), time.Unix(1_800_000_000, 0)
	whole := s.Seal("foy_", now)
	f.Add("")
	f.Add(whole[:40])
	f.Add(whole + "A")
	f.Fuzz(func(t *testing.T, session string) {
		if key, err := s.Open(session, now); err == nil && key != "foy_" {
			t.Errorf("%q opens %q", session, key)
		}
	})
}
