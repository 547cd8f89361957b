package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	plainaddress "foyer/internal/base/address"
	"foyer/internal/base/origin"
	"foyer/internal/infra/db/postgres"
	"foyer/internal/infra/mail"
)

// value sets a field to the value of a text.
func value[T any](field func(*Config) *T, parse func(string) (T, error)) func(*Config, string) error {
	return func(c *Config, text string) error {
		v, err := parse(text)
		if err != nil {
			return err
		}
		*field(c) = v
		return nil
	}
}

// text sets a field to a text as it is; a check may refuse it.
func text(field func(*Config) *string, check func(string) error) func(*Config, string) error {
	return value(field, func(s string) (string, error) {
		if check == nil {
			return s, nil
		}
		return s, check(s)
	})
}

// unixPrefix begins the name of a unix socket.
const unixPrefix = "unix:"

func listen(s string) error {
	path, isSocket := strings.CutPrefix(s, unixPrefix)
	if !isSocket && !strings.Contains(s, "/") {
		return address(s)
	}
	const most = 107 // bytes, on Linux: unix(7)
	if !isSocket || !filepath.IsAbs(path) || len(path) > most {
		return fmt.Errorf("must be an address like 127.0.0.1:8000, or a socket like unix:/run/foyer/foyer.sock: unix: and an absolute path of at most %d bytes", most)
	}
	return nil
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

// database does not repeat the value in errors: it may hold a password.
func database(s string) error {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok && path != "" {
		if path == ":memory:" { // each connection would have a database of its own
			return errors.New("must be a file: sqlite:PATH")
		}
		return nil
	}
	if !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") || strings.HasSuffix(s, "://") {
		return errors.New("must be sqlite:PATH or postgres://user@host/database")
	}
	if u, err := url.Parse(s); err != nil || u.Fragment != "" {
		return errors.New("must be a url like postgres://user:password@host/database;" +
			" special characters of the user name and the password must be written as %XX")
	}
	return postgres.CheckURL(s)
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

func baseURL(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) { // mail headers contain it
		return "", errors.New("must be ASCII: write a host like bücher.example as xn--bcher-kva.example, and what else is not ASCII as %XX")
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(s, "?#") || !linkHost(u) {
		return "", errors.New("must be a url like https://foyer.example.com")
	}
	if !strings.HasSuffix(s, u.EscapedPath()) {
		return "", errors.New("must have a path that can be part of a link: write a space and the like as %XX")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(path, "//") { // without the host, the link would lead to another host
		return "", errors.New("must have single slashes in its path")
	}
	return origin.Of(u) + path, nil
}

// linkHost reports whether a link can lead to a url's host and port: url.Parse accepts almost anything there.
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
	if !strings.Contains(s, "://") {
		return nil
	}
	if u, err := url.Parse(s); err != nil || !strings.HasPrefix(s, "https://") || u.Hostname() == "" {
		return errors.New("must be a path or an https url")
	}
	return nil
}

func limit(s string) (int, error) {
	const most = 1_000_000_000
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	return n, nil
}

// bytes reads a number of MiB, such as 96MiB.
func bytes(least int) func(string) (int, error) {
	return func(s string) (int, error) {
		const most = 1 << 20 // MiB
		number, ok := strings.CutSuffix(s, "MiB")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n > most || n<<20 < least {
			return 0, fmt.Errorf("must be a number of MiB, from %dMiB to %dMiB", least>>20, most)
		}
		return n << 20, nil
	}
}

func onOff(s string) (bool, error) {
	if s != "on" && s != "off" {
		return false, errors.New("must be on or off")
	}
	return s == "on", nil
}

func duration(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err == nil && (d < least || most > 0 && d > most) {
			err = fmt.Errorf("must be at least %s%s", spell(least), atMost(most))
		}
		return d, err
	}
}

// orOff also accepts the word off, which means 0.
func orOff[T int | time.Duration](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		if s == "off" {
			return 0, nil
		}
		v, err := parse(s)
		if err != nil {
			err = fmt.Errorf("%w, or off", err)
		}
		return v, err
	}
}

const day = 24 * time.Hour

// ParseDuration reads a duration in Go's syntax, or whole days like 30d.
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

// spell writes a duration in whole days or hours, as in settings.
func spell(d time.Duration) string {
	switch {
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

// list reads values separated by commas.
func list[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) (all []T, err error) {
		for text := range strings.SplitSeq(s, ",") {
			one, err := parse(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}

func prefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not a CIDR like 10.0.0.0/8", s)
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 { // addresses are compared as IPv4
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

func signInWay(s string) (string, error) {
	if s != ByProvider && s != ByMail && s != ByKey {
		return "", fmt.Errorf("%q is not a way to sign in: choose from %s, %s and %s", s, ByProvider, ByMail, ByKey)
	}
	return s, nil
}

func domain(s string) (string, error) {
	name, err := plainaddress.Domain(s)
	if err != nil {
		return "", fmt.Errorf("%q is not a domain like example.com", s)
	}
	return name, nil
}

func scopes(s string) ([]string, error) {
	all := strings.Fields(s)
	if !slices.Contains(all, "openid") {
		return nil, errors.New("must have openid among them")
	}
	return all, nil
}

// issuer accepts http only on this machine: anybody who can change the provider's responses can sign in as anybody.
func issuer(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || strings.ContainsAny(s, "?# ") || !linkHost(u) ||
		u.Scheme != "https" && (u.Scheme != "http" || !loopback(net.JoinHostPort(u.Hostname(), "0"))) {
		return errors.New("must be an https url like https://login.example.com, or http on a loopback address")
	}
	return nil
}
