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
