package config

import (
	"net/netip"
	"strings"
	"time"
)

// Setting is one variable, and what it is for.
type Setting struct {
	Name    string // without FOYER_
	Default string
	Help    string
	Secret  bool // no flag, but also as …_FILE
	set     func(c *Config, value string) error
}

// Variable is the name of the variable.
func (s Setting) Variable() string { return "FOYER_" + s.Name }

// Flag is the name of the flag, without dashes.
func (s Setting) Flag() string { return strings.ReplaceAll(strings.ToLower(s.Name), "_", "-") }

// bootstrapKey is the secret whose file is read when it is used.
const bootstrapKey = "BOOTSTRAP_KEY"

// Settings lists every setting there is.
var Settings = []Setting{
	{"LISTEN", "127.0.0.1:8000", "Address to listen on.", false, text(func(c *Config) *string { return &c.Listen }, address)},
	{"DATABASE", "", "Where everything is kept: sqlite:PATH or postgres://… (default: SQLite in the data folder).", true, text(func(c *Config) *string { return &c.Database }, database)},
	{"DATA_DIR", "./foyer-data", "Data folder, made if it is not there.", false, text(func(c *Config) *string { return &c.DataDir }, nil)},
	{"BASE_URL", "", "What links and pages start with (default: http:// and the address). Needed with a mail server or beyond loopback.", false, baseURL},
	{"SECRET", "", "Derives invite links, seals sessions and credentials of apps: 32 characters or more. Needed with PostgreSQL; else made once and kept in the data folder.", true, text(func(c *Config) *string { return &c.Secret }, secret)},
	{"SMTP", "", "Mail server: smtp://user:pass@host:port (STARTTLS), smtps://… or smtp+plain://….", true, text(func(c *Config) *string { return &c.SMTP }, smtpURL)},
	{"MAIL_FROM", "", "Sender of mails (default: foyer@ and the host of the base url).", false, text(func(c *Config) *string { return &c.MailFrom }, sender)},
	{"CATALOG", "", "Path or https url of a catalog of apps (default: the one that is built in).", false, text(func(c *Config) *string { return &c.Catalog }, catalog)},
	{"RATE_LIMIT", "6000", "Requests a minute for each key, or off.", false, limit(func(c *Config) *int { return &c.RateLimit })},
	{"INVITE_LIMIT", "200", "Invites a day for each organization, or off, which turns the mail limit off too.", false, limit(func(c *Config) *int { return &c.InviteLimit })},
	{"MAIL_LIMIT", "10", "Mails a day for each address, or off.", false, limit(func(c *Config) *int { return &c.MailLimit })},
	{"METRICS_LISTEN", "", "Address where /metrics is served, apart from the API (default: nowhere).", false, text(func(c *Config) *string { return &c.MetricsListen }, address)},
	{"PPROF", "off", "Serve Go's profiles under /debug/pprof/ on the metrics listener, which must be set: on or off.", false, onOff(func(c *Config) *bool { return &c.Pprof })},
	{"ACTIVITY_KEEP", "", "How long activity is kept, like 8760h or 365d (default: forever).", false, duration(func(c *Config) *time.Duration { return &c.ActivityKeep }, time.Hour, 0)},
	{"TRUSTED_PROXIES", "", "Whose X-Forwarded-For is believed: CIDRs, separated by commas (default: nobody's).", false, prefixes(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies })},
	{"INVITE_TTL", "72h", "How long invites live: 1s to 30d.", false, duration(func(c *Config) *time.Duration { return &c.InviteTTL }, time.Second, 30*24*time.Hour)},
	{"UPSTREAM_ALLOW", "", "Private addresses that app urls may reach: CIDRs, separated by commas (default: none).", false, prefixes(func(c *Config) *[]netip.Prefix { return &c.UpstreamAllow })},
	{"BOOTSTRAP_ORGANIZATION", "", "Id (UUID) of the organization that the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Organization }, nil)},
	{bootstrapKey, "", "Key that the first start makes, from `foyer key generate`.", true, text(func(c *Config) *string { return &c.Bootstrap.Key }, nil)},
	{"BOOTSTRAP_EMAIL", "", "Address of the owner whom the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Email }, nil)},
}
