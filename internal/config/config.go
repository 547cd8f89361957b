// Package config reads the settings once, at start. Every setting is a variable; those that are not secret are also flags
// of foyer serve.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foyer/internal/infra/mail"
)

// Config holds every setting of the service.
type Config struct {
	Listen            string // address, host:port, or unix: and the absolute path of a socket
	Database          string // sqlite:PATH or postgres://…
	inDataDir         bool   // Database was not set and is a file in DataDir
	DataDir           string
	BaseURL           string // without a trailing slash
	Secret            string // "": the one in the data folder
	SMTP              string // "": no mail
	MailFrom          string
	Catalog           string        // "": the embedded one
	RateLimit         int           // requests per minute and key; 0: no limit
	InviteLimit       int           // invites per day and organization; 0: no limit
	MailLimit         int           // mails per day and address; 0: no limit
	InFlightLimit     int           // bytes that requests may hold
	MetricsListen     string        // "": none
	Pprof             bool          // on the metrics listener
	ActivityKeep      time.Duration // 0: forever
	ActivityAddresses bool          // whether the activity keeps addresses
	TrustedProxies    []netip.Prefix
	InviteTTL         time.Duration
	UpdateCheck       time.Duration // interval of the update checks; 0: never
	UpstreamAllow     []netip.Prefix
	WebhookAllow      []netip.Prefix
	SignIn            []string // ways to sign in; empty: all that are configured
	OIDC              OIDC
	Bootstrap         Bootstrap
	Demo              bool     // the first start makes a site with an app, unless Bootstrap is set
	Unknown           []string // variables that look like settings but are not, most likely misspelt
	files             []string // the settings that were read from files
}

// OIDC is the identity provider that people can sign in with.
type OIDC struct {
	Issuer       string // "": none
	ClientID     string
	ClientSecret string
	Name         string   // on the button; "": the issuer's host
	Scopes       []string // "openid" among them
	Domains      []string // mail domains that the provider is trusted for; empty: all
}

// ProviderName returns the name people know the identity provider by; "" if they cannot sign in with one.
func (c *Config) ProviderName() string {
	issuer, err := url.Parse(c.OIDC.Issuer)
	if err != nil || !c.SignsInBy(ByProvider) {
		return ""
	}
	return cmp.Or(c.OIDC.Name, issuer.Hostname())
}

// The ways to sign in.
const (
	ByProvider = "oidc"
	ByMail     = "mail"
	ByKey      = "key"
)

// SignsInBy reports whether people may sign in by a way: it is configured and not turned off.
func (c *Config) SignsInBy(way string) bool {
	configured := map[string]bool{ByProvider: c.OIDC.Issuer != "", ByMail: c.SMTP != "", ByKey: true}
	return configured[way] && (len(c.SignIn) == 0 || slices.Contains(c.SignIn, way))
}

// Bootstrap sets what the first start on an empty database makes; empty values are generated at random. Later starts
// ignore it, so only the first one checks it.
type Bootstrap struct {
	Organization, OrganizationName, Key, Email string

	KeyFile string // "" if Key is set
}

// WrongError is about a setting that turns out to be wrong after Load and CheckServer.
type WrongError struct{ error }

// Wrong returns err as an error about a setting.
func Wrong(err error) error { return WrongError{err} }

// Unwrap returns the error about the setting.
func (w WrongError) Unwrap() error { return w.error }

// GivenKey returns Key, or the content of KeyFile, which may be gone after the first start.
func (b Bootstrap) GivenKey() (string, error) {
	if b.KeyFile == "" {
		return b.Key, nil
	}
	key, err := readSecret(b.KeyFile)
	if err != nil {
		return "", Wrong(fmt.Errorf("FOYER_%s_FILE: %w", bootstrapKey, err))
	}
	return key, nil
}

// Variables returns the values in an environment, a list like os.Environ's. White space around a value is no part of it:
// some files of variables end one with a line break.
func Variables(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = strings.TrimSpace(value)
	}
	return variables
}

// Load reads the settings: first from flags, then from an environment's Variables. An empty value counts as unset. The
// error names every wrong setting on a line of its own, and never repeats a secret.
func Load(environ []string, flags map[string]string) (Config, error) {
	variables := Variables(environ)
	c := Config{Unknown: unknown(variables)}
	var errs []error
	for _, s := range Settings {
		value, from, err := lookUp(s, variables, flags)
		if err == nil && value != "" {
			err = s.set(&c, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", from, err))
		}
		if from == s.Variable()+"_FILE" {
			c.files = append(c.files, s.Name)
		}
	}
	if len(errs) > 0 {
		return Config{}, errors.Join(errs...)
	}
	if c.Bootstrap.Key == "" {
		c.Bootstrap.KeyFile = variables["FOYER_"+bootstrapKey+"_FILE"]
	}
	c.complete()
	return c, nil
}

// lookUp returns the text of a setting and where it comes from.
func lookUp(s Setting, variables, flags map[string]string) (value, from string, err error) {
	if v := flags[s.Flag()]; v != "" && !s.Secret {
		return v, "--" + s.Flag(), nil
	}
	if v := variables[s.Variable()]; v != "" {
		return v, s.Variable(), nil
	}
	if path := variables[s.Variable()+"_FILE"]; s.Secret && s.Name != bootstrapKey && path != "" {
		v, err := readSecret(path)
		return v, s.Variable() + "_FILE", err
	}
	return s.Default, s.Variable(), nil
}

// ofKubernetes reports whether Kubernetes sets this variable for a service with the name foyer.
func ofKubernetes(name, value string) bool {
	return strings.HasPrefix(name, "FOYER_SERVICE_") || strings.HasPrefix(name, "FOYER_PORT_") || name == "FOYER_PORT" && strings.Contains(value, "://")
}

// unknown lists the variables that begin like settings but are not.
func unknown(variables map[string]string) []string {
	known := map[string]bool{"FOYER_URL": true, "FOYER_KEY": true} // used by the command line
	for _, s := range Settings {
		known[s.Variable()] = true
		known[s.Variable()+"_FILE"] = s.Secret
	}
	var names []string
	for name, value := range variables {
		if value != "" && strings.HasPrefix(name, "FOYER_") && !known[name] && !ofKubernetes(name, value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readSecret refuses an empty file: the secret has not been written.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(content))
	if value == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return value, nil
}

// complete adapts settings that depend on others.
func (c *Config) complete() {
	if c.inDataDir = c.Database == ""; c.inDataDir {
		c.Database = "sqlite:" + filepath.Join(c.DataDir, "foyer.db")
	}
	if c.InviteLimit == 0 {
		c.MailLimit = 0
	}
	c.MailFrom = cmp.Or(c.MailFrom, "foyer@"+c.baseHost())
}

// CheckServer finds problems that only a server has and other commands do not.
func (c *Config) CheckServer() error {
	var errs []error
	if c.Secret == "" && !c.SQLite() {
		errs = append(errs, errors.New("FOYER_SECRET: must be set with PostgreSQL, the same on every server: 32 characters or more"))
	}
	switch {
	case c.BaseURL != "":
	case c.SMTP != "":
		errs = append(errs, errors.New("FOYER_BASE_URL: must be set with a mail server, or links in mails would lead nowhere"))
	case c.Socket() != "":
		errs = append(errs, errors.New("FOYER_BASE_URL: must be set when listening on a unix socket, like https://foyer.example.com"))
	case !loopback(c.Listen):
		errs = append(errs, errors.New("FOYER_BASE_URL: must be set when listening beyond loopback, like https://foyer.example.com"))
	}
	errs = append(errs, c.checkSignIn())
	if c.Pprof && c.MetricsListen == "" {
		errs = append(errs, errors.New("FOYER_PPROF: needs FOYER_METRICS_LISTEN, where profiles are served"))
	}
	if c.MetricsListen == c.Listen && !strings.HasSuffix(c.Listen, ":0") { // 0: any free port
		errs = append(errs, errors.New("FOYER_METRICS_LISTEN: must be another address than FOYER_LISTEN"))
	}
	if _, err := mail.ParseSender(c.MailFrom); err != nil && c.BaseURL != "" && c.SMTP != "" {
		errs = append(errs, fmt.Errorf("FOYER_MAIL_FROM: must be set, since mail cannot come from %s", c.MailFrom))
	}
	return errors.Join(errs...)
}

// checkSignIn finds ways to sign in that cannot work.
func (c *Config) checkSignIn() error {
	var errs []error
	if c.OIDC.Issuer == "" && (c.OIDC.ClientID != "" || c.OIDC.ClientSecret != "" || c.OIDC.Name != "" || len(c.OIDC.Domains) > 0) {
		errs = append(errs, errors.New("FOYER_OIDC_ISSUER: must be set with other settings of the identity provider: its url"))
	}
	if c.OIDC.Issuer != "" && (c.OIDC.ClientID == "" || c.OIDC.ClientSecret == "") {
		errs = append(errs, errors.New("FOYER_OIDC_ISSUER: needs FOYER_OIDC_CLIENT_ID and FOYER_OIDC_CLIENT_SECRET, as the identity provider shows them"))
	}
	if slices.Contains(c.SignIn, ByProvider) && c.OIDC.Issuer == "" {
		errs = append(errs, errors.New("FOYER_SIGNIN: oidc needs FOYER_OIDC_ISSUER"))
	}
	if slices.Contains(c.SignIn, ByMail) && c.SMTP == "" {
		errs = append(errs, errors.New("FOYER_SIGNIN: mail needs FOYER_SMTP"))
	}
	return errors.Join(errs...)
}

// CheckDatabase checks that the database exists, if it is a file.
func (c *Config) CheckDatabase() error {
	path := c.DatabasePath()
	if _, err := os.Stat(path); c.SQLite() && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no database at %s: the first `foyer serve` makes one", c.DatabaseSetting(), path)
	}
	return nil
}

// DatabasePath returns the file of a SQLite database, if possible as an absolute path, so that people in the wrong folder
// see it.
func (c *Config) DatabasePath() string {
	path := strings.TrimPrefix(c.Database, "sqlite:")
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// baseHost returns the host of the base url; "" if there is none and the server listens on :port, which CheckServer
// refuses.
func (c *Config) baseHost() string {
	base, err := url.Parse(c.Base(c.Listen))
	if err != nil {
		return ""
	}
	return base.Hostname()
}

// SecretPath returns where the secret is stored if it is not set.
func (c *Config) SecretPath() string { return filepath.Join(c.DataDir, "secret") }

// DatabaseSetting names the setting to blame when the database cannot be opened.
func (c *Config) DatabaseSetting() string {
	if c.inDataDir {
		return "FOYER_DATA_DIR"
	}
	return c.Blamed("DATABASE")
}

// Blamed returns the variable that a secret setting came from: its own or the one that names the file.
func (c *Config) Blamed(setting string) string {
	if slices.Contains(c.files, setting) {
		return "FOYER_" + setting + "_FILE"
	}
	return "FOYER_" + setting
}

// CatalogIsFile reports whether the catalog is a file on this machine.
func (c *Config) CatalogIsFile() bool {
	return c.Catalog != "" && !strings.HasPrefix(c.Catalog, "https://")
}

// SQLite reports whether the database is a file on this machine.
func (c *Config) SQLite() bool { return strings.HasPrefix(c.Database, "sqlite:") }

// Socket returns the path of the unix socket to listen on; "" if it is an address.
func (c *Config) Socket() string {
	if path, ok := strings.CutPrefix(c.Listen, unixPrefix); ok {
		return path
	}
	return ""
}

// Base returns the base url of a server that listens on address.
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
