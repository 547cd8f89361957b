package e2e

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"foyer/internal/infra/mail/mailtest"
)

// engines are the engines that these tests run on.
var engines = []string{"sqlite", "postgres"}

// A server that is killed at any point between the answer and the mail loses no mail.
func TestMailsOutliveTheServer(t *testing.T) {
	t.Parallel()
	const deaths = 100
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			smtp := mailtest.Start(t, mailtest.Config{})
			s := newSettings(t, engine, smtp.URL())
			for n := range deaths {
				i := launch(t, s)
				i.call(s["BOOTSTRAP_KEY"], "POST", "/invites", fmt.Sprintf(`{"target_email":"p%d@x.example"}`, n), 201)
				time.Sleep(time.Duration(n%25) * time.Millisecond) // another point each time, from before the job is taken to after the mail is sent
				i.kill()
			}
			launch(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var got map[string]int
			for mails := 0; len(got) < deaths; {
				all, err := smtp.Wait(ctx, mails)
				if err != nil {
					t.Fatalf("%d of %d were mailed: %v", len(got), deaths, err)
				}
				got, mails = recipients(all), len(all)+1
			}
		})
	}
}

// recipients counts the mails to each address.
func recipients(mails []mailtest.Mail) map[string]int {
	got := map[string]int{}
	for _, m := range mails {
		got[m.To[0]]++
	}
	return got
}

func TestThreeServersMailEachInviteOnce(t *testing.T) {
	t.Parallel()
	const servers, requests, each = 3, 10, 100
	smtp := mailtest.Start(t, mailtest.Config{})
	s := newSettings(t, "postgres", smtp.URL())
	var all []*instance
	for range servers {
		all = append(all, launch(t, s))
	}
	for n := range requests {
		var items []string
		for item := range each {
			items = append(items, fmt.Sprintf(`{"target_email":"p%d-%d@x.example"}`, n, item))
		}
		all[n%servers].call(s["BOOTSTRAP_KEY"], "POST", "/invites/bulk", "["+strings.Join(items, ",")+"]", 200)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := smtp.Wait(ctx, requests*each); err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		i.stop() // after the mails in progress
	}
	got := recipients(smtp.Mails())
	if len(got) != requests*each || smtp.Asked() != requests*each {
		t.Errorf("%d addresses, %d mails, want %d", len(got), smtp.Asked(), requests*each)
	}
}

// A thief of only the database must not get in.
func TestDatabaseHoldsNoLinkAndNoKey(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			smtp := mailtest.Start(t, mailtest.Config{})
			s := newSettings(t, engine, smtp.URL())
			i := launch(t, s)
			key := s["BOOTSTRAP_KEY"]
			invite := i.call(key, "POST", "/invites", `{"target_email":"a@x.example","message":"canary"}`, 201)
			link := i.call(key, "POST", "/invites/"+field36(invite)+"/link", "", 200)
			if _, err := smtp.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			i.stop()
			secrets := []string{key, s["SECRET"]}
			for _, text := range []string{link, smtp.Mails()[0].Text(t)} {
				secrets = append(secrets, regexp.MustCompile(`/invite/([\w-]{64})`).FindStringSubmatch(text)[1])
			}
			dump := dumpOf(t, s)
			if !strings.Contains(dump, "canary") {
				t.Fatal("the dump has no invite")
			}
			for _, secret := range slices.DeleteFunc(secrets, func(s string) bool { return s == "" }) {
				if strings.Contains(dump, secret) || strings.Contains(i.said(), secret) {
					t.Errorf("%s… is in the database or in the log", secret[:8])
				}
			}
		})
	}
}

// field36 returns the id that an object begins with.
func field36(object string) string { return object[len(`{"id":"`):][:36] }

// dumpOf returns everything in the database of a server.
func dumpOf(t *testing.T, s settings) string {
	t.Helper()
	var dump strings.Builder
	if s["DATABASE"] == "" {
		files, err := filepath.Glob(filepath.Join(s["DATA_DIR"], "foyer.db*"))
		check(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			check(t, err)
			dump.Write(content)
		}
		return dump.String()
	}
	d, err := stdsql.Open("pgx", s["DATABASE"])
	check(t, err)
	defer d.Close()
	for _, table := range column(t, d, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`) {
		for _, row := range column(t, d, `SELECT t::text FROM `+table+` t`) {
			dump.WriteString(row + "\n")
		}
	}
	return dump.String()
}

func column(t *testing.T, d *stdsql.DB, query string) []string {
	t.Helper()
	rows, err := d.Query(query)
	check(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		check(t, rows.Scan(&text))
		all = append(all, text)
	}
	check(t, rows.Err())
	return all
}
