package mail

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Security is how a connection to the mail server is protected.
type Security int

// The meanings of the schemes of FOYER_SMTP.
const (
	STARTTLS Security = iota // smtp://: TLS after STARTTLS; refused without it
	TLS                      // smtps://: TLS from the first byte
	Plain                    // smtp+plain://: no TLS, for a test server
)

// Settings say which mail server to use. Printing them shows neither the user name nor the password.
type Settings struct {
	Security           Security
	Host               string
	Port               int
	username, password string
}

var schemes = map[string]struct {
	security Security
	port     int
}{
	"smtp":       {STARTTLS, 587},
	"smtps":      {TLS, 465},
	"smtp+plain": {Plain, 25},
}

// Parse reads the value of FOYER_SMTP. Its errors never repeat the value, since a mistyped one can hold the password
// anywhere.
func Parse(value string) (Settings, error) {
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" {
		return Settings{}, errors.New("must be a url like smtp://user:password@host:587;" +
			" special characters of the user name and the password must be written as %XX")
	}
	kind, ok := schemes[u.Scheme]
	if !ok {
		return Settings{}, errors.New("must start with smtp://, smtps:// or smtp+plain://")
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return Settings{}, errors.New("must end after the port;" +
			" a / ? or # in the user name or the password must be written as %2F, %3F or %23")
	}
	if u.Hostname() == "" {
		return Settings{}, errors.New("names no host")
	}
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }) {
		return Settings{}, errors.New("must be ASCII: write a host like bücher.example as xn--bcher-kva.example")
	}
	s := Settings{Security: kind.security, Host: u.Hostname(), Port: kind.port}
	if port := u.Port(); port != "" {
		s.Port, err = strconv.Atoi(port)
		if err != nil || s.Port < 1 || s.Port > 65535 {
			return Settings{}, errors.New("port must be a number from 1 to 65535")
		}
	}
	if s.Security == STARTTLS && s.Port == schemes["smtps"].port {
		return Settings{}, fmt.Errorf("must start with smtps://: port %d speaks TLS from the first byte", s.Port)
	}
	s.username = u.User.Username()
	s.password, _ = u.User.Password()
	if (s.username == "") != (s.password == "") {
		return Settings{}, errors.New("user name and password go together: one of them is missing")
	}
	return s, nil
}

// String returns the url without user name and password.
func (s Settings) String() string {
	for scheme, kind := range schemes {
		if kind.security == s.Security {
			return fmt.Sprintf("%s://%s", scheme, s.address())
		}
	}
	return s.address()
}

// GoString keeps %#v from showing the password.
func (s Settings) GoString() string { return s.String() }

func (s Settings) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
