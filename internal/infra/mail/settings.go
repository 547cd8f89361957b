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

// The schemes of FOYER_SMTP say how a connection to the mail server is protected.
const (
	startTLS    = "smtp"       // TLS after STARTTLS; refused without it
	implicitTLS = "smtps"      // TLS from the first byte
	withoutTLS  = "smtp+plain" // for a test server
)

var defaultPorts = map[string]int{startTLS: 587, implicitTLS: 465, withoutTLS: 25}

// Settings say which mail server to use. Printing them shows neither the user name nor the password.
type Settings struct {
	scheme, host       string
	port               int
	username, password string
}

// Parse reads the value of FOYER_SMTP. Its errors never repeat the value, since a mistyped one can hold the password
// anywhere.
func Parse(value string) (Settings, error) {
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" {
		return Settings{}, errors.New("must be a url like smtp://user:password@host:587;" +
			" special characters of the user name and the password must be written as %XX")
	}
	port, ok := defaultPorts[u.Scheme]
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
	if given := u.Port(); given != "" {
		port, err = strconv.Atoi(given)
		if err != nil || port < 1 || port > 65535 {
			return Settings{}, errors.New("port must be a number from 1 to 65535")
		}
	}
	if u.Scheme == startTLS && port == defaultPorts[implicitTLS] {
		return Settings{}, fmt.Errorf("must start with smtps://: port %d speaks TLS from the first byte", port)
	}
	s := Settings{scheme: u.Scheme, host: u.Hostname(), port: port}
	s.username = u.User.Username()
	s.password, _ = u.User.Password()
	if (s.username == "") != (s.password == "") {
		return Settings{}, errors.New("user name and password go together: one of them is missing")
	}
	return s, nil
}

// String returns the url without user name and password.
func (s Settings) String() string { return s.scheme + "://" + s.address() }

// GoString keeps %#v from showing the password.
func (s Settings) GoString() string { return s.String() }

func (s Settings) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }
