package config

import (
	"net/netip"
	"strings"
	"time"
)

// Setting is one variable and its description.
type Setting struct {
	Name    string // without FOYER_
	Default string
	Help    string
	Secret  bool // no flag, but can also be set as …_FILE
	set     func(c *Config, value string) error
}

// Variable returns the name of the variable.
func (s Setting) Variable() string { return "FOYER_" + s.Name }

// Flag returns the name of the flag, without dashes.
func (s Setting) Flag() string { return strings.ReplaceAll(strings.ToLower(s.Name), "_", "-") }

// bootstrapKey is the secret whose file is read on use.
const bootstrapKey = "BOOTSTRAP_KEY"

// Settings lists every setting.
var Settings = []Setting{
	{"LISTEN", "127.0.0.1:8000", "Address to listen on, or unix:PATH for a socket.", false, text(func(c *Config) *string { return &c.Listen }, listen)},
	{"DATABASE", "", "Where everything is kept: sqlite:PATH or postgres://… (default: SQLite in the data folder).", true, text(func(c *Config) *string { return &c.Database }, database)},
	{"DATA_DIR", "./foyer-data", "Data folder, made if it is not there.", false, text(func(c *Config) *string { return &c.DataDir }, nil)},
	{"BASE_URL", "", "What links and pages start with (default: http:// and the address). Needed with a mail server, beyond loopback or on a unix socket.", false, value(func(c *Config) *string { return &c.BaseURL }, baseURL)},
	{"SECRET", "", "Derives invite links, seals credentials of apps: 32 characters or more. Needed with PostgreSQL; else made once and kept in the data folder.", true, text(func(c *Config) *string { return &c.Secret }, secret)},
	{"SMTP", "", "Mail server: smtp://user:pass@host:port (STARTTLS), smtps://… or smtp+plain://….", true, text(func(c *Config) *string { return &c.SMTP }, smtpURL)},
	{"MAIL_FROM", "", "Sender of mails (default: foyer@ and the host of the base url).", false, text(func(c *Config) *string { return &c.MailFrom }, sender)},
	{"SIGNIN", "", "Ways to sign in to the console: oidc, mail, key, separated by commas (default: all that are configured).", false, value(func(c *Config) *[]string { return &c.SignIn }, list(signInWay))},
	{"OIDC_ISSUER", "", "Identity provider by which people sign in (OpenID Connect): its https url.", false, text(func(c *Config) *string { return &c.OIDC.Issuer }, issuer)},
	{"OIDC_CLIENT_ID", "", "What the identity provider calls this server.", false, text(func(c *Config) *string { return &c.OIDC.ClientID }, nil)},
	{"OIDC_CLIENT_SECRET", "", "The secret that the identity provider has given this server.", true, text(func(c *Config) *string { return &c.OIDC.ClientSecret }, nil)},
	{"OIDC_NAME", "", "What the button on the sign-in page calls it (default: its host).", false, text(func(c *Config) *string { return &c.OIDC.Name }, nil)},
	{"OIDC_SCOPES", "openid email profile", "Scopes to ask it for, separated by spaces: openid among them.", false, value(func(c *Config) *[]string { return &c.OIDC.Scopes }, scopes)},
	{"OIDC_DOMAINS", "", "Whose addresses it speaks for: domains, separated by commas (default: all).", false, value(func(c *Config) *[]string { return &c.OIDC.Domains }, list(domain))},
	{"CATALOG", "", "Path or https url of a catalog of apps (default: the one that is built in).", false, text(func(c *Config) *string { return &c.Catalog }, catalog)},
	{"RATE_LIMIT", "6000", "Requests a minute of each user, whatever the key, or off.", false, value(func(c *Config) *int { return &c.RateLimit }, orOff(limit))},
	{"INVITE_LIMIT", "200", "Invites a day for each organization, or off, which turns the mail limit off too.", false, value(func(c *Config) *int { return &c.InviteLimit }, orOff(limit))},
	{"MAIL_LIMIT", "10", "Mails a day for each address, or off.", false, value(func(c *Config) *int { return &c.MailLimit }, orOff(limit))},
	{"INFLIGHT_LIMIT", "96MiB", "Memory that requests in flight may hold: bodies, what is read for them, and answers. A user has two thirds of it, an address without a key a twelfth. 16MiB or more.", false, value(func(c *Config) *int { return &c.InFlightLimit }, bytes(16<<20))},
	{"METRICS_LISTEN", "", "Address where /metrics is served, apart from the API (default: nowhere).", false, text(func(c *Config) *string { return &c.MetricsListen }, address)},
	{"PPROF", "off", "Serve Go's profiles under /debug/pprof/ on the metrics listener, which must be set: on or off.", false, value(func(c *Config) *bool { return &c.Pprof }, onOff)},
	{"ACTIVITY_KEEP", "", "How long activity is kept, like 8760h or 365d (default: forever).", false, value(func(c *Config) *time.Duration { return &c.ActivityKeep }, duration(time.Hour, 0))},
	{"ACTIVITY_ADDRESSES", "off", "Keep in the activity which client address a change came from: on or off.", false, value(func(c *Config) *bool { return &c.ActivityAddresses }, onOff)},
	{"TRUSTED_PROXIES", "", "Whose X-Forwarded-For is believed: CIDRs, separated by commas (default: nobody's).", false, value(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }, list(prefix))},
	{"INVITE_TTL", "72h", "How long invites live, unless the inviter chooses another time: 1s to 30d.", false, value(func(c *Config) *time.Duration { return &c.InviteTTL }, duration(time.Second, 30*24*time.Hour))},
	{"UPDATE_CHECK", "6h", "How often the repositories of installed apps are asked for newer versions: 6h to 365d, or off.", false, value(func(c *Config) *time.Duration { return &c.UpdateCheck }, orOff(duration(6*time.Hour, 365*day)))},
	{"UPSTREAM_ALLOW", "", "Private addresses that app urls may reach: CIDRs, separated by commas (default: none).", false, value(func(c *Config) *[]netip.Prefix { return &c.UpstreamAllow }, list(prefix))},
	{"WEBHOOK_ALLOW", "", "Private addresses that webhooks may be sent to: CIDRs, separated by commas (default: none).", false, value(func(c *Config) *[]netip.Prefix { return &c.WebhookAllow }, list(prefix))},
	{"DEMO", "on", "Whether the first start makes a site with an app to look at, if no BOOTSTRAP setting is there: on or off.", false, value(func(c *Config) *bool { return &c.Demo }, onOff)},
	{"BOOTSTRAP_ORGANIZATION", "", "Id (UUID) of the organization that the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Organization }, nil)},
	{"BOOTSTRAP_ORGANIZATION_NAME", "", "Name of the organization that the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.OrganizationName }, nil)},
	{bootstrapKey, "", "Key that the first start makes, from `foyer key generate`.", true, text(func(c *Config) *string { return &c.Bootstrap.Key }, nil)},
	{"BOOTSTRAP_EMAIL", "", "Address of the owner whom the first start makes.", false, text(func(c *Config) *string { return &c.Bootstrap.Email }, nil)},
}
