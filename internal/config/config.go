// Package config reads the settings once, at start. Every setting is a variable;
// those that are not secret are flags of foyer serve too.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Config is every setting of the service.
type Config struct {
	Listen         string // address, host:port
	Database       string // sqlite:PATH or postgres://…
	DataDir        string
	BaseURL        string // without a trailing slash
	Secret         string // "": the one in the data folder
	SMTP           string // "": no mail
	MailFrom       string
	Catalog        string        // "": the embedded one
	RateLimit      int           // requests a minute and key; 0: no limit
	InviteLimit    int           // invites a day and organization; 0: no limit
	MailLimit      int           // mails a day and address; 0: no limit
	MetricsListen  string        // "": none
	Pprof          bool          // on the metrics listener
	ActivityKeep   time.Duration // 0: forever
	TrustedProxies []netip.Prefix
	InviteTTL      time.Duration
	UpstreamAllow  []netip.Prefix
	Bootstrap      Bootstrap
}

// Bootstrap fixes what the first start on an empty database makes; what is empty
// is made at random.
type Bootstrap struct{ Organization, Key, Email string }

// Setting is one variable, and what it is for.
type Setting struct {
	Name    string // without FOYER_
	Default string
	Help    string
	Secret  bool // no flag, but also as …_FILE
	set     func(c *Config, value string) error
}

// Flag is the name of the flag, without dashes.
func (s Setting) Flag() string { return strings.ReplaceAll(strings.ToLower(s.Name), "_", "-") }

// Settings lists every setting there is.
var Settings = []Setting{
	{"LISTEN", "127.0.0.1:8000", "Address to listen on.", false, text(func(c *Config) *string { return &c.Listen }, address)},
	{"DATABASE", "", "Where everything is kept: sqlite:PATH or postgres://… (default: SQLite in the data folder).", true, text(func(c *Config) *string { return &c.Database }, database)},
	{"DATA_DIR", "./foyer-data", "Data folder, made if it is not there.", false, text(func(c *Config) *string { return &c.DataDir }, nil)},
	{"BASE_URL", "", "What links and pages start with (default: http:// and the address). Needed with a mail server or beyond loopback.", false, baseURL},
	{"SECRET", "", "Derives invite links: 32 characters or more. Needed with PostgreSQL; else made once and kept in the data folder.", true, text(func(c *Config) *string { return &c.Secret }, secret)},
	{"SMTP", "", "Mail server: smtp://user:pass@host:port (STARTTLS), smtps://… or smtp+plain://….", true, text(func(c *Config) *string { return &c.SMTP }, smtpURL)},
	{"MAIL_FROM", "", "Sender of mails (default: foyer@ and the host of the base url).", false, text(func(c *Config) *string { return &c.MailFrom }, nil)},
	{"CATALOG", "", "Path or https url of a catalog of apps (default: the one that is built in).", false, text(func(c *Config) *string { return &c.Catalog }, nil)},
	{"RATE_LIMIT", "6000", "Requests a minute for each key, or off.", false, limit(func(c *Config) *int { return &c.RateLimit })},
	{"INVITE_LIMIT", "200", "Invites a day for each organization, or off, which turns the mail limit off too.", false, limit(func(c *Config) *int { return &c.InviteLimit })},
	{"MAIL_LIMIT", "10", "Mails a day for each address, or off.", false, limit(func(c *Config) *int { return &c.MailLimit })},
	{"METRICS_LISTEN", "", "Address where /metrics is served, apart from the API (default: nowhere).", false, text(func(c *Config) *string { return &c.MetricsListen }, address)},
	{"PPROF", "off", "Serve Go's profiles under /debug/pprof/ on the metrics listener: on or off.", false, onOff(func(c *Config) *bool { return &c.Pprof })},
	{"ACTIVITY_KEEP", "", "How long activity is kept, like 8760h (default: forever).", false, duration(func(c *Config) *time.Duration { return &c.ActivityKeep }, time.Hour, 0)},
	{"TRUSTED_PROXIES", "", "Whose X-Forwarded-For is believed: CIDRs, separated by commas (default: nobody's).", false, prefixes(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies })},
	{"INVITE_TTL", "72h", "How long invites live: 1s to 720h.", false, duration(func(c *Config) *time.Duration { return &c.InviteTTL }, time.Second, 30*24*time.Hour)},
	{"UPSTREAM_ALLOW", "", "Private addresses that app urls may reach: CIDRs, separated by commas (default: none).", false, prefixes(func(c *Config) *[]netip.Prefix { return &c.UpstreamAllow })},
	{"BOOTSTRAP_ORGANIZATION", "", "Id (UUID) of the organization that the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Organization }, uuidText)},
	{"BOOTSTRAP_KEY", "", "Key that the first start makes.", true, text(func(c *Config) *string { return &c.Bootstrap.Key }, nil)},
	{"BOOTSTRAP_EMAIL", "", "Address of the owner whom the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Email }, nil)},
}

// Load reads the settings: flags first, then the environment; getenv is os.Getenv,
// except in tests. An empty value counts as none. The error names every setting
// that is wrong.
func Load(getenv func(string) string, flags map[string]string) (Config, error) {
	var c Config
	var errs []error
	for _, s := range Settings {
		value, err := lookUp(s, getenv, flags)
		if err == nil && value != "" {
			err = s.set(&c, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("FOYER_%s: %w", s.Name, err))
		}
	}
	if len(errs) > 0 {
		return Config{}, errors.Join(errs...)
	}
	c.complete()
	return c, nil
}

func lookUp(s Setting, getenv func(string) string, flags map[string]string) (string, error) {
	if v := flags[s.Flag()]; v != "" && !s.Secret {
		return v, nil
	}
	if v := getenv("FOYER_" + s.Name); v != "" {
		return v, nil
	}
	if path := getenv("FOYER_" + s.Name + "_FILE"); s.Secret && path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("(from FOYER_%s_FILE) %w", s.Name, err)
		}
		return strings.TrimSpace(string(content)), nil
	}
	return s.Default, nil
}

// complete fills in what depends on other settings.
func (c *Config) complete() {
	if c.Database == "" {
		c.Database = "sqlite:" + filepath.Join(c.DataDir, "foyer.db")
	}
	if c.InviteLimit == 0 {
		c.MailLimit = 0
	}
}

// CheckServer finds what a server needs and other commands do not.
func (c *Config) CheckServer() error {
	if c.Secret == "" && !c.SQLite() {
		return errors.New("FOYER_SECRET: must be set with PostgreSQL, the same on every server: 32 characters or more")
	}
	if c.BaseURL == "" {
		if c.SMTP != "" {
			return errors.New("FOYER_BASE_URL: must be set with a mail server, or links in mails would lead nowhere")
		}
		if !loopback(c.Listen) {
			return errors.New("FOYER_BASE_URL: must be set when listening beyond loopback, like https://foyer.example.com")
		}
	}
	base, err := url.Parse(c.Base(c.Listen))
	if err != nil {
		return fmt.Errorf("FOYER_BASE_URL: %w", err)
	}
	if c.MailFrom == "" {
		if _, err := netip.ParseAddr(base.Hostname()); err == nil && c.SMTP != "" {
			return errors.New("FOYER_MAIL_FROM: must be set when the base url is an address")
		}
		c.MailFrom = "foyer@" + base.Hostname()
	}
	return nil
}

// SQLite reports whether the database is a file of this machine.
func (c *Config) SQLite() bool { return strings.HasPrefix(c.Database, "sqlite:") }

// Base is the base url of a server that listens on address.
func (c *Config) Base(address string) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	return "http://" + address
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

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
	for _, scheme := range []string{"sqlite:", "postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok && rest != "" {
			return nil
		}
	}
	return errors.New("must be sqlite:PATH or postgres://user@host/database")
}

func smtpURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "smtp" && u.Scheme != "smtps" && u.Scheme != "smtp+plain" {
		return errors.New("must be smtp://user:pass@host:port, smtps://… or smtp+plain://…")
	}
	return nil
}

func secret(s string) error {
	const least = 32
	if len(s) < least {
		return fmt.Errorf("must be at least %d characters long", least)
	}
	return nil
}

func uuidText(s string) error {
	if id, err := uuid.Parse(s); err != nil || id.String() != s {
		return errors.New("must be a UUID in lower case")
	}
	return nil
}

func baseURL(c *Config, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be a url like https://foyer.example.com")
	}
	c.BaseURL = strings.TrimRight(value, "/")
	return nil
}

func limit(field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value == "off" {
			*field(c) = 0
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return errors.New("must be a whole number from 1, or off")
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
		d, err := time.ParseDuration(value)
		if err != nil {
			return errors.New("must be a duration like 72h or 30m")
		}
		if d < least || most > 0 && d > most {
			return fmt.Errorf("must be at least %s%s", least, atMost(most))
		}
		*field(c) = d
		return nil
	}
}

func atMost(most time.Duration) string {
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(" and at most %s", most)
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
