package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const goodSecret = "0123456789abcdef0123456789abcdef"

// cases has a row for each setting: how it is read, and which values it refuses.
var cases = []struct {
	name     string
	field    func(Config) any
	unset    any // the default
	good     string
	want     any // the result of good
	alsoGood []string
	wrong    []string
	secret   bool // no flag
}{
	{
		name: "LISTEN", field: func(c Config) any { return c.Listen },
		unset: "127.0.0.1:8000", good: "[::1]:0", want: "[::1]:0",
		alsoGood: []string{":8000", "localhost:80", "unix:/run/foyer/foyer.sock"},
		wrong: []string{
			"8000", "localhost", "localhost:http", "localhost:65536", "localhost:-1",
			"unix:", "unix:foyer.sock", "unix:@foyer", "/run/foyer.sock", "unix:/" + strings.Repeat("a", 107),
		},
	},
	{
		name: "DATABASE", field: func(c Config) any { return c.Database }, secret: true,
		unset: "sqlite:foyer-data/foyer.db", good: "postgres://u:p@a,b/foyer", want: "postgres://u:p@a,b/foyer",
		alsoGood: []string{"sqlite:x.db", "sqlite:#50%.db", "postgresql://h/d", "postgres://u:p%23@a:1,b:2/d"},
		wrong: []string{
			"mysql://hunter2@h/d", "sqlite:", "sqlite::memory:", "x.db", "postgres://",
			"postgres://u:hunter2#@h/d", "postgres://u:#hunter2@h/d", "postgres://u:hunter2%@h/d", "postgres://u:hunter2/x@h/d",
			"postgres://u:hunter2@h/d?pool_max_conns=2", "postgres://u:hunter2@h/d?sslmode=often", "postgres://u:hunter2@h/d?pool_health_check_period=0s",
		},
	},
	{name: "DATA_DIR", field: func(c Config) any { return c.DataDir }, unset: "./foyer-data", good: "/var/lib/foyer", want: "/var/lib/foyer"},
	{
		name: "BASE_URL", field: func(c Config) any { return c.BaseURL },
		unset: "", good: "https://foyer.example.com/", want: "https://foyer.example.com",
		alsoGood: []string{"http://10.0.0.1:8000", "https://xn--bcher-kva.example/b%C3%BCro", "https://h.example:65535/sub", "http://[::1]:8000"},
		wrong: []string{
			"foyer.example.com", "ftp://h", "https://", "https://:80", "https://u:hunter2@h", "https://h?a=b", "https://h#f", "https://h:x", "https://bücher.example", "https://h/büro",
			"https://h?", "https://h#", "https://h/?", "https://h/#", "https://h:", "https://h:0", "https://h:65536", "https://[::1]:", "https://[x]",
			`https://h"y.example`, "https://h<y", "https://h/a b", `https://h/a"b`, `https://h/a\b`,
			"https://h//evil.example", "https://h/a//b/", "http://[fe80::1%25lo]:80",
		},
	},
	{
		name: "SECRET", field: func(c Config) any { return c.Secret }, secret: true,
		unset: "", good: goodSecret, want: goodSecret, wrong: []string{"hunter2"},
	},
	{
		name: "SMTP", field: func(c Config) any { return c.SMTP }, secret: true,
		unset: "", good: "smtp://u:p@mail.example.com:587", want: "smtp://u:p@mail.example.com:587",
		alsoGood: []string{"smtps://h", "smtp+plain://127.0.0.1:2525"},
		wrong:    []string{"hunter2", "http://u:hunter2@h", "smtp://", "smtp://u:hunter2%@h", "smtp:hunter2", "smtp://hunter2@h", "smtp://u:hunter2@h/x"},
	},
	{
		name: "MAIL_FROM", field: func(c Config) any { return c.MailFrom },
		unset: "foyer@127.0.0.1", good: "foyer@example.com", want: "foyer@example.com",
		alsoGood: []string{"Foyer <foyer@example.com>", "foyer@localhost"}, wrong: []string{"foyer", "a@b, c@d", "foyer@intranet", "foyer@10.0.0.1", "foyer@[10.0.0.1]"},
	},
	{
		name: "SIGNIN", field: func(c Config) any { return c.SignIn },
		unset: []string(nil), good: "mail, key", want: []string{"mail", "key"}, alsoGood: []string{"oidc,mail,key"}, wrong: []string{"password", "key,", "KEY"},
	},
	{
		name: "OIDC_ISSUER", field: func(c Config) any { return c.OIDC.Issuer },
		unset: "", good: "https://login.example.com/realms/a", want: "https://login.example.com/realms/a",
		alsoGood: []string{"http://127.0.0.1:5556/dex", "http://localhost", "http://[::1]:1"},
		wrong:    []string{"login.example.com", "http://login.example.com", "http://10.0.0.1", "ftp://127.0.0.1", "https://u:hunter2@h.example", "https://h.example?a", "https://h.example/a b", "ftp://h.example", "https://"},
	},
	{name: "OIDC_CLIENT_ID", field: func(c Config) any { return c.OIDC.ClientID }, unset: "", good: "foyer", want: "foyer"},
	{name: "OIDC_CLIENT_SECRET", field: func(c Config) any { return c.OIDC.ClientSecret }, secret: true, unset: "", good: "s", want: "s"},
	{name: "OIDC_NAME", field: func(c Config) any { return c.OIDC.Name }, unset: "", good: "Acme", want: "Acme"},
	{
		name: "OIDC_SCOPES", field: func(c Config) any { return c.OIDC.Scopes },
		unset: []string{"openid", "email", "profile"}, good: "openid  email", want: []string{"openid", "email"}, wrong: []string{"email"},
	},
	{
		name: "OIDC_DOMAINS", field: func(c Config) any { return c.OIDC.Domains },
		unset: []string(nil), good: "Example.com, bücher.example", want: []string{"example.com", "xn--bcher-kva.example"}, wrong: []string{"example", "a@example.com", "example.com,"},
	},
	{
		name: "CATALOG", field: func(c Config) any { return c.Catalog },
		unset: "", good: "https://example.com/catalog.json", want: "https://example.com/catalog.json",
		alsoGood: []string{"catalog.json"}, wrong: []string{"http://example.com/catalog.json", "https://", "HTTPS://h", "https://:443/c.json", "https://h:x"},
	},
	{
		name: "RATE_LIMIT", field: func(c Config) any { return c.RateLimit },
		unset: 6000, good: "12", want: 12, alsoGood: []string{"off", "1000000000"},
		wrong: []string{"0", "-1", "1.5", "1e3", "many", "1000000001", "9223372036854775807"},
	},
	{
		name: "INVITE_LIMIT", field: func(c Config) any { return c.InviteLimit },
		unset: 200, good: "off", want: 0, wrong: []string{"0", "OFF"},
	},
	{
		name: "MAIL_LIMIT", field: func(c Config) any { return c.MailLimit },
		unset: 10, good: "3", want: 3, alsoGood: []string{"off"}, wrong: []string{"0"},
	},
	{
		name: "INFLIGHT_LIMIT", field: func(c Config) any { return c.InFlightLimit },
		unset: 96 << 20, good: "16MiB", want: 16 << 20, alsoGood: []string{"1048576MiB"},
		wrong: []string{"15MiB", "off", "96", "1GiB", "-96MiB", "1048577MiB", "9223372036854775807MiB"},
	},
	{
		name: "METRICS_LISTEN", field: func(c Config) any { return c.MetricsListen },
		unset: "", good: "127.0.0.1:9090", want: "127.0.0.1:9090", wrong: []string{"9090"},
	},
	{
		name: "PPROF", field: func(c Config) any { return c.Pprof },
		unset: false, good: "on", want: true, alsoGood: []string{"off"}, wrong: []string{"true", "1"},
	},
	{
		name: "ACTIVITY_KEEP", field: func(c Config) any { return c.ActivityKeep },
		unset: time.Duration(0), good: "365d", want: 365 * 24 * time.Hour,
		alsoGood: []string{"8760h"}, wrong: []string{"1m", "-1h", "-1d", "forever", "1", "9999999999999d", "1.5d", "d"},
	},
	{
		name: "ACTIVITY_ADDRESSES", field: func(c Config) any { return c.ActivityAddresses },
		unset: false, good: "on", want: true, alsoGood: []string{"off"}, wrong: []string{"true", "1"},
	},
	{
		name: "TRUSTED_PROXIES", field: func(c Config) any { return c.TrustedProxies },
		unset: []netip.Prefix(nil), good: "10.1.2.3/8, ::1/128, ::ffff:192.0.2.1/128",
		want:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("192.0.2.1/32")},
		wrong: []string{"10.0.0.1", "10.0.0.0/33", "10.0.0.0/8,", "proxy"},
	},
	{
		name: "INVITE_TTL", field: func(c Config) any { return c.InviteTTL },
		unset: 72 * time.Hour, good: "1s", want: time.Second,
		alsoGood: []string{"720h", "30d"}, wrong: []string{"0s", "999ms", "720h1s", "31d", "soon"},
	},
	{
		name: "UPDATE_CHECK", field: func(c Config) any { return c.UpdateCheck },
		unset: 6 * time.Hour, good: "12h", want: 12 * time.Hour,
		alsoGood: []string{"off", "6h", "365d"}, wrong: []string{"5h", "0", "never", "366d", "99999d"},
	},
	{
		name: "UPSTREAM_ALLOW", field: func(c Config) any { return c.UpstreamAllow },
		unset: []netip.Prefix(nil), good: "192.168.0.0/16", want: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")}, wrong: []string{"all"},
	},
	{
		name: "WEBHOOK_ALLOW", field: func(c Config) any { return c.WebhookAllow },
		unset: []netip.Prefix(nil), good: "192.168.0.0/16", want: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")}, wrong: []string{"all"},
	},
	{name: "DEMO", field: func(c Config) any { return c.Demo }, unset: true, good: "off", want: false, alsoGood: []string{"on"}, wrong: []string{"no"}},
	{name: "BOOTSTRAP_ORGANIZATION", field: func(c Config) any { return c.Bootstrap.Organization }, unset: "", good: "acme", want: "acme"},
	{name: "BOOTSTRAP_ORGANIZATION_NAME", field: func(c Config) any { return c.Bootstrap.OrganizationName }, unset: "", good: "Acme", want: "Acme"},
	{name: "BOOTSTRAP_KEY", field: firstKey, secret: true, unset: "", good: "foy_0", want: "foy_0"},
	{name: "BOOTSTRAP_EMAIL", field: func(c Config) any { return c.Bootstrap.Email }, unset: "", good: "ada@example.com", want: "ada@example.com"},
}

func firstKey(c Config) any {
	key, err := c.Bootstrap.GivenKey()
	if err != nil {
		return err
	}
	return key
}

// The base url begins exactly like the Origin header that browsers send from our pages.
func TestBaseURLIsWrittenAsBrowsersDo(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"HTTPS://Foyer.Example.com":          "https://foyer.example.com",
		"https://foyer.example.com:443/Sub/": "https://foyer.example.com/Sub",
		"http://foyer.example.com:80":        "http://foyer.example.com",
		"http://foyer.example.com:443":       "http://foyer.example.com:443",
		"https://[2001:DB8::1]:443":          "https://[2001:db8::1]",
		"https://foyer.example.com:8443":     "https://foyer.example.com:8443",
	} {
		c, err := Load([]string{"FOYER_BASE_URL=" + given}, nil)
		if err != nil || c.BaseURL != want {
			t.Errorf("%s: %s, %v", given, c.BaseURL, err)
		}
	}
}

func TestEverySettingHasACase(t *testing.T) {
	t.Parallel()
	for i, s := range Settings {
		if i >= len(cases) || cases[i].name != s.Name || cases[i].secret != s.Secret {
			t.Fatalf("%s: no case, or not in its place", s.Name)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	samePrefix := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	for i, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			variable, flag := Settings[i].Variable(), Settings[i].Flag()
			check := func(how string, want any, env []string, flags map[string]string) {
				t.Helper()
				c, err := Load(env, flags)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				} else if diff := cmp.Diff(want, test.field(c), samePrefix); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
			check("unset", test.unset, nil, nil)
			check("empty", test.unset, []string{variable + "="}, map[string]string{flag: ""})
			check("variable", test.want, []string{variable + "=" + test.good}, nil)
			check("line break", test.want, []string{variable + "=" + test.good + "\r\n"}, nil)
			check("blank", test.unset, []string{variable + "=" + strings.Repeat(" ", len(goodSecret))}, nil)
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(test.good+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if Settings[i].Secret {
				check("file", test.want, []string{variable + "_FILE=" + path}, nil)
				check("flag", test.unset, nil, map[string]string{flag: test.good})
			} else {
				check("file", test.unset, []string{variable + "_FILE=" + path}, nil)
				check("flag", test.want, []string{variable + "=not looked at"}, map[string]string{flag: test.good})
			}
			for _, good := range test.alsoGood {
				if _, err := Load([]string{variable + "=" + good}, nil); err != nil {
					t.Errorf("%q: %v", good, err)
				}
			}
		})
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for i, test := range cases {
		s := Settings[i]
		for _, wrong := range test.wrong {
			_, err := Load([]string{s.Variable() + "=" + wrong}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), s.Variable()+": ") {
				t.Errorf("%s=%q: error %v; want one that begins with its name", s.Variable(), wrong, err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s=%q: the error repeats a secret: %v", s.Variable(), wrong, err)
			}
			if s.Secret {
				continue
			}
			if _, err := Load(nil, map[string]string{s.Flag(): wrong}); err == nil || !strings.HasPrefix(err.Error(), "--"+s.Flag()+": ") {
				t.Errorf("--%s=%q: error %v; want one that begins with its name", s.Flag(), wrong, err)
			}
		}
	}
}

// Error messages write limits in the form that settings have.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ given, want string }{
		{"FOYER_INVITE_TTL=1ms", "FOYER_INVITE_TTL: must be at least 1s and at most 30d"},
		{"FOYER_ACTIVITY_KEEP=1ms", "FOYER_ACTIVITY_KEEP: must be at least 1h"},
		{"FOYER_INFLIGHT_LIMIT=15MiB", "FOYER_INFLIGHT_LIMIT: must be a number of MiB, from 16MiB to 1048576MiB"},
		{"FOYER_INFLIGHT_LIMIT=2000000MiB", "FOYER_INFLIGHT_LIMIT: must be a number of MiB, from 16MiB to 1048576MiB"},
	} {
		if _, err := Load([]string{test.given}, nil); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestVariablesThatAreNoSetting(t *testing.T) {
	t.Parallel()
	c, err := Load([]string{
		"FOYER_RATE_LIMTI=10", "FOYER_LISTEN_FILE=x", "FOYER_=x", "FOYER_LISTEN=:8000", "FOYER_SECRET_FILE=", "FOYER_NONE=", "FOYERS=1", "PATH=/bin",
		"FOYER_PORT=tcp://10.0.0.1:80", "FOYER_PORT_80_TCP_ADDR=10.0.0.1", "FOYER_SERVICE_HOST=10.0.0.1", // as Kubernetes does
	}, nil)
	if diff := cmp.Diff([]string{"FOYER_", "FOYER_LISTEN_FILE", "FOYER_RATE_LIMTI"}, c.Unknown); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if c, err = Load([]string{"FOYER_PORT=9000"}, nil); err != nil || len(c.Unknown) != 1 { // somebody may mean FOYER_LISTEN
		t.Errorf("%v, %v", c.Unknown, err)
	}
}

func TestAllWrongSettingsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{"FOYER_LISTEN=x", "FOYER_SMTP=x", "FOYER_INVITE_TTL=x"}, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v; want three lines", err)
	}
}

// The errors have the same order each time.
func TestWrongWaysToSignInAreInOrder(t *testing.T) {
	t.Parallel()
	c, err := Load([]string{"FOYER_SIGNIN=oidc,mail"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := c.CheckServer(); err == nil || err.Error() != "FOYER_SIGNIN: oidc needs FOYER_OIDC_ISSUER\nFOYER_SIGNIN: mail needs FOYER_SMTP" {
			t.Fatal(err)
		}
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, empty + ".none"} {
		_, err := Load([]string{"FOYER_SECRET_FILE=" + path}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "FOYER_SECRET_FILE: ") || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v; want one that names the variable and the file", err)
		}
	}
	c, err := Load([]string{"FOYER_SECRET=" + goodSecret, "FOYER_SECRET_FILE=" + empty}, nil)
	if err != nil || c.Secret != goodSecret {
		t.Errorf("with both: %v; want the variable to count", err)
	}
	database := filepath.Join(t.TempDir(), "database")
	if err := os.WriteFile(database, []byte("sqlite:x.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = Load([]string{"FOYER_DATABASE_FILE=" + database}, nil); err != nil || c.DatabaseSetting() != "FOYER_DATABASE_FILE" || c.Blamed("SMTP") != "FOYER_SMTP" {
		t.Errorf("%s is blamed, %v", c.DatabaseSetting(), err)
	}
}

// The file of the bootstrap key may be gone after the first start.
func TestBootstrapKeyFileIsReadWhenItIsUsed(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, empty + ".none"} {
		c, err := Load([]string{"FOYER_BOOTSTRAP_KEY_FILE=" + path}, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := c.Bootstrap.GivenKey(); err == nil || !strings.HasPrefix(err.Error(), "FOYER_BOOTSTRAP_KEY_FILE: ") || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v; want one that names the variable and the file", err)
		}
		c, err = Load([]string{"FOYER_BOOTSTRAP_KEY=foy_0", "FOYER_BOOTSTRAP_KEY_FILE=" + path}, nil)
		if key := firstKey(c); err != nil || key != "foy_0" {
			t.Errorf("with both: %v, %v; want the variable to count", key, err)
		}
	}
}

func TestWhatFollows(t *testing.T) {
	t.Parallel()
	c, err := Load([]string{"FOYER_DATA_DIR=/data", "FOYER_INVITE_LIMIT=off", "FOYER_MAIL_LIMIT=5"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Database != "sqlite:/data/foyer.db" || c.SecretPath() != "/data/secret" {
		t.Errorf("database %s, secret in %s; want both in the data folder", c.Database, c.SecretPath())
	}
	if c.MailLimit != 0 {
		t.Errorf("mail limit %d; want none, as for invites", c.MailLimit)
	}
}

func TestCheckServer(t *testing.T) {
	t.Parallel()
	const mailServer = "smtp://mail.example.com"
	tests := map[string]struct {
		env   []string
		from  string
		names []string // of settings that are wrong
	}{
		"nothing set":              {nil, "foyer@127.0.0.1", nil},
		"localhost":                {[]string{"FOYER_LISTEN=localhost:1"}, "foyer@localhost", nil},
		"beyond loopback":          {[]string{"FOYER_LISTEN=:8000"}, "", []string{"FOYER_BASE_URL"}},
		"an address beyond it":     {[]string{"FOYER_LISTEN=10.0.0.1:8000"}, "", []string{"FOYER_BASE_URL"}},
		"mapped loopback":          {[]string{"FOYER_LISTEN=[::ffff:127.0.0.1]:1"}, "foyer@::ffff:127.0.0.1", nil},
		"socket":                   {[]string{"FOYER_LISTEN=unix:/run/f"}, "", []string{"FOYER_BASE_URL"}},
		"socket, with a base url":  {[]string{"FOYER_LISTEN=unix:/run/f", "FOYER_BASE_URL=https://f.example.com"}, "foyer@f.example.com", nil},
		"beyond, with a base url":  {[]string{"FOYER_LISTEN=:8000", "FOYER_BASE_URL=https://f.example.com"}, "foyer@f.example.com", nil},
		"mail":                     {[]string{"FOYER_SMTP=" + mailServer}, "", []string{"FOYER_BASE_URL"}},
		"mail, address":            {[]string{"FOYER_SMTP=" + mailServer, "FOYER_BASE_URL=http://10.0.0.1"}, "", []string{"FOYER_MAIL_FROM"}},
		"mail, name without a dot": {[]string{"FOYER_SMTP=" + mailServer, "FOYER_BASE_URL=http://intranet"}, "", []string{"FOYER_MAIL_FROM"}},
		"mail, localhost":          {[]string{"FOYER_SMTP=" + mailServer, "FOYER_BASE_URL=http://localhost:8000"}, "foyer@localhost", nil},
		"mail, address, sender": {
			[]string{"FOYER_SMTP=" + mailServer, "FOYER_BASE_URL=http://10.0.0.1", "FOYER_MAIL_FROM=a@example.com"}, "a@example.com", nil,
		},
		"profiles":                   {[]string{"FOYER_PPROF=on"}, "", []string{"FOYER_PPROF"}},
		"profiles, metrics":          {[]string{"FOYER_PPROF=on", "FOYER_METRICS_LISTEN=127.0.0.1:0"}, "foyer@127.0.0.1", nil},
		"metrics beside the API":     {[]string{"FOYER_LISTEN=127.0.0.1:0", "FOYER_METRICS_LISTEN=127.0.0.1:0"}, "foyer@127.0.0.1", nil},
		"metrics in its place":       {[]string{"FOYER_METRICS_LISTEN=127.0.0.1:8000"}, "", []string{"FOYER_METRICS_LISTEN"}},
		"a way without its server":   {[]string{"FOYER_SIGNIN=mail"}, "", []string{"FOYER_SIGNIN"}},
		"a way with its server":      {[]string{"FOYER_SIGNIN=mail", "FOYER_SMTP=" + mailServer, "FOYER_BASE_URL=https://f.example.com"}, "foyer@f.example.com", nil},
		"half a provider":            {[]string{"FOYER_OIDC_ISSUER=https://l.example"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a provider, not its client": {[]string{"FOYER_OIDC_ISSUER=https://l.example", "FOYER_OIDC_CLIENT_SECRET=b"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a provider, not its secret": {[]string{"FOYER_OIDC_ISSUER=https://l.example", "FOYER_OIDC_CLIENT_ID=a"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a secret, not its provider": {[]string{"FOYER_OIDC_CLIENT_SECRET=b"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a provider without its url": {[]string{"FOYER_OIDC_CLIENT_ID=a"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a name without a provider":  {[]string{"FOYER_OIDC_NAME=Acme"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"domains without a provider": {[]string{"FOYER_OIDC_DOMAINS=example.com"}, "", []string{"FOYER_OIDC_ISSUER"}},
		"a provider":                 {[]string{"FOYER_OIDC_ISSUER=https://l.example", "FOYER_OIDC_CLIENT_ID=a", "FOYER_OIDC_CLIENT_SECRET=b", "FOYER_SIGNIN=oidc"}, "foyer@127.0.0.1", nil},
		"PostgreSQL":                 {[]string{"FOYER_DATABASE=postgres://h/d"}, "", []string{"FOYER_SECRET"}},
		"PostgreSQL, secret":         {[]string{"FOYER_DATABASE=postgres://h/d", "FOYER_SECRET=" + goodSecret}, "foyer@127.0.0.1", nil},
		"PostgreSQL, and mail":       {[]string{"FOYER_DATABASE=postgres://h/d", "FOYER_SMTP=" + mailServer}, "", []string{"FOYER_SECRET", "FOYER_BASE_URL"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(test.env, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = c.CheckServer()
			var named []string
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					variable, _, _ := strings.Cut(line, ":")
					named = append(named, variable)
				}
			} else if c.MailFrom != test.from {
				t.Errorf("sender %s; want %s", c.MailFrom, test.from)
			}
			if diff := cmp.Diff(test.names, named); diff != "" {
				t.Errorf("wrong settings (-want +got):\n%s", diff)
			}
		})
	}
}
