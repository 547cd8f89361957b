package mail_test

import (
	"strings"
	"testing"

	"foyer/internal/infra/mail/mailtest"
)

func TestAnswersDoNotBringSecretsBack(t *testing.T) {
	t.Parallel()
	const token = "AZq-3xTgd1uJ_hQ0mVb-cKp7Rw2Yf8LsEo5-i6Ua9Dj4GkHlXzC-BnMqWeRtYuIo"
	for said, want := range map[string]string{
		"URL blocked: http://foyer.example/invite/" + token:                 "URL blocked: http[:]//foyer[.]example/invite/[hidden]",
		"spam " + token + ", go away":                                       "spam [hidden], go away",
		"spam " + strings.ToUpper(token):                                    "spam [hidden]",
		"see ?u=http%3A%2F%2Ffoyer.example%2Finvite%2F" + token:             "%2Finvite%2F[hidden]",
		"HTTP://FOYER.EXAMPLE/INVITE/somebody-elses":                        "/INVITE/[hidden]",
		"http://foyer.example/x/" + strings.ReplaceAll(token, "-", "%2D"):   "not shown",
		"http://foyer.example/x/" + strings.ReplaceAll(token, "-", "%252d"): "not shown",
		"spam " + token[:20] + " " + token[20:]:                             "not shown",
		"spam " + token[len(token)-16:]:                                     "not shown",
		strings.Repeat("x", 291) + " " + token:                              "…",
		"try later":                                                         "try later",
		// Text far behind the visible part is not checked: each of these escapes takes a pass over the whole text.
		"no %" + strings.Repeat("25", 60_000):                               "no %2525",
		"no " + strings.Repeat("x ", 4<<10) + token[:20] + " " + token[20:]: "no x x",
	} {
		server := mailtest.Start(t, mailtest.Config{})
		server.Script(mailtest.Refuse(451, said))
		m := message()
		m.Secrets = []string{token}
		err := sender(t, server.URL()).Send(t.Context(), m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q became %v; want %q", said, err, want)
		}
		for at := 0; at+16 <= len(token); at++ {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(token[at:at+16])) {
				t.Fatalf("%q became %v", said, err)
			}
		}
	}
}
