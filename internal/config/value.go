package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"foyer/internal/mail"
)

func text(field func(*Config) *string, check func(string) error) func(*Config, string) error {
	return func(c *Config, value string) error {
		if check != nil {
			if err := check(value); err != nil {
				return err
			}
		}
		*field(c) = value
		return nil
	}
}

func address(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be an address like 127.0.0.1:8000")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("must end in a port from 0 to 65535")
	}
	return nil
}

// database does not repeat the value: it may hold a password.
func database(s string) error {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok && path != "" {
		return nil
	}
	if !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") || strings.HasSuffix(s, "://") {
		return errors.New("must be sqlite:PATH or postgres://user@host/database")
	}
	if u, err := url.Parse(s); err != nil || u.Fragment != "" {
		return errors.New("must be a url like postgres://user:password@host/database;" +
			" special characters of the user name and the password must be written as %XX")
	}
	return nil
}

func smtpURL(s string) error {
	_, err := mail.Parse(s)
	return err
}

func secret(s string) error {
	const least = 32
	if len(s) < least {
		return fmt.Errorf("must be at least %d characters long", least)
	}
	return nil
}

func baseURL(c *Config, value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r > unicode.MaxASCII }) { // mail headers hold it
		return errors.New("must be ASCII: write a host like bücher.example as xn--bcher-kva.example, and what else is not ASCII as %XX")
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(value, "?#") || !linkHost(u) {
		return errors.New("must be a url like https://foyer.example.com")
	}
	if !strings.HasSuffix(value, u.EscapedPath()) {
		return errors.New("must have a path that can be part of a link: write a space and the like as %XX")
	}
	c.BaseURL = strings.TrimRight(value, "/")
	if strings.Contains(strings.TrimRight(u.EscapedPath(), "/"), "//") { // a link without the host would lead to another
		return errors.New("must have single slashes in its path")
	}
	return nil
}

// linkHost reports whether a link can lead to a url's host and port: url.Parse takes
// almost anything for these.
func linkHost(u *url.URL) bool {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		if ip, err := netip.ParseAddr(host); err != nil || ip.Zone() != "" {
			return false
		}
	} else if host == "" || strings.Trim(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._") != "" {
		return false
	}
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n >= 1 && n <= 65535
}

func sender(s string) error {
	if _, err := mail.ParseSender(s); err != nil {
		return errors.New("must be an address like foyer@example.com or Foyer <foyer@example.com>")
	}
	return nil
}

func catalog(s string) error {
	scheme, _, isURL := strings.Cut(s, "://")
	if isURL && scheme != "https" {
		return errors.New("must be a path or an https url")
	}
	return nil
}

func limit(field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value == "off" {
			*field(c) = 0
			return nil
		}
		const most = 1_000_000_000
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("must be a whole number from 1 to %d, or off", most)
		}
		*field(c) = n
		return nil
	}
}

func onOff(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value != "on" && value != "off" {
			return errors.New("must be on or off")
		}
		*field(c) = value == "on"
		return nil
	}
}

func duration(field func(*Config) *time.Duration, least, most time.Duration) func(*Config, string) error {
	return func(c *Config, value string) error {
		d, err := ParseDuration(value)
		if err != nil {
			return err
		}
		if d < least || most > 0 && d > most {
			return fmt.Errorf("must be at least %s%s", spell(least), atMost(most))
		}
		*field(c) = d
		return nil
	}
}

const day = 24 * time.Hour

// ParseDuration reads a duration as Go spells it, or whole days like 30d.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseInt(days, 10, 64); err == nil && n >= 0 && n <= int64(math.MaxInt64/day) {
			return time.Duration(n) * day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration like 30d, 72h or 30m")
	}
	return d, nil
}

func atMost(most time.Duration) string {
	if most == 0 {
		return ""
	}
	return " and at most " + spell(most)
}

// spell writes whole days and hours as settings do.
func spell(d time.Duration) string {
	switch {
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

func prefixes(field func(*Config) *[]netip.Prefix) func(*Config, string) error {
	return func(c *Config, value string) error {
		var all []netip.Prefix
		for text := range strings.SplitSeq(value, ",") {
			p, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("%q is not a CIDR like 10.0.0.0/8", strings.TrimSpace(text))
			}
			all = append(all, p.Masked())
		}
		*field(c) = all
		return nil
	}
}
