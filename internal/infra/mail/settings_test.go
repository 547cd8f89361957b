package mail_test

import (
	"fmt"
	"strings"
	"testing"

	"foyer/internal/infra/mail"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"smtp://ada:s3cr3t@mail.example":           "smtp://mail.example:587",
		"smtps://ada%40x:s3cr3t%2F@mail.example/":  "smtps://mail.example:465",
		"smtp+plain://127.0.0.1:1":                 "smtp+plain://127.0.0.1:1",
		"SMTP://mail.example:25":                   "smtp://mail.example:25",
		"smtps://ada:s3cr3t@[2001:db8::1]:65535":   "smtps://[2001:db8::1]:65535",
		"smtp+plain://ada:s3cr3t@mail.example:587": "smtp+plain://mail.example:587",
	} {
		got, err := mail.Parse(value)
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q) = %v, %v, want %s", value, got, err, want)
		}
		if shown := fmt.Sprintf("%v %+v %#v %s", got, got, got, &got); strings.Contains(shown, "s3cr3t") {
			t.Errorf("the password is shown: %s", shown)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                                     "start with",
		"mail.example:587":                     "a url like",
		"s3cr3t://ada:s3cr3t@mail.example":     "start with",
		"smtp://":                              "no host",
		"smtp://ada:s3cr3t@":                   "no host",
		"smtp://ada:s3cr3t@:587":               "no host",
		"smtp://ada:s3cr3t@mail.example:0":     "port",
		"smtp://ada:s3cr3t@mail.example:65536": "port",
		"smtp://ada:s3cr3t@mail.example:465":   "smtps://",
		"smtp://ada:s3cr3t@mail.example:x":     "a url like",
		"smtp://ada:s3cr3t%@mail.example":      "%XX",
		"smtp://ada:s3#cr3t@mail.example":      "%",
		"smtp://ada:12/s3cr3t@mail.example":    "%2F",
		"smtp://ada@mail.example":              "one of them",
		"smtp://:s3cr3t@mail.example":          "one of them",
		"smtp://mail.example/x":                "after the port",
		"smtp://mail.example?tls=no":           "after the port",
		"smtp://mail.example#x":                "after the port",
		"smtp:ada:s3cr3t@mail.example":         "a url like",
		"smtp://mail.example\r\n":              "a url like",
		"smtp://mail.bücher.example":           "ASCII",
	} {
		got, err := mail.Parse(value)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3") {
			t.Errorf("Parse(%q) = %v, %v, want an error with %q", value, got, err, want)
		}
	}
}
