package terminal

import (
	"errors"
	"time"

	"foyer/internal/config"
)

// Lifetime is a duration that may be given in days.
type Lifetime time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Lifetime) UnmarshalText(text []byte) error {
	d, err := config.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if d <= 0 {
		return errors.New("must be longer than nothing")
	}
	*l = Lifetime(d)
	return nil
}

// InviteTTL is how long invites live, in seconds; 0: the server's default.
type InviteTTL int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *InviteTTL) UnmarshalText(text []byte) error {
	d, err := config.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if d != 0 && d < time.Second {
		return errors.New("must be 0, or a second or more")
	}
	*t = InviteTTL(d / time.Second)
	return nil
}
