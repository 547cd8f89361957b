package api_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

var (
	streamed  = flag.Int("streamed", 5000, "how many entries TestStreamOfManyEntries streams from each engine")
	requested = flag.Int("requested", 100, "how many users, and how many others, TestSignInTakesTheSameTime asks links for on each engine")
)

// fillActivity makes n numbered entries.
func (r *rig) fillActivity(n int) {
	r.t.Helper()
	const columns = `organization_id, scope, item_id, activity, user_id, key_id, session_id, address, name, changes, request_id, created_at, data,
		data_hash, salt, name_hash, changes_hash`
	err := r.db.InTx(r.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		e := activity.Entry{
			OrganizationID: r.org.ID, Scope: activity.Invite, ItemID: "01981f30-1b7e-7a52-8b1a-7f2d9f3c4e55", Verb: activity.Created, Name: "ada@example.com",
			Changes: []activity.Change{activity.Changed("level", nil, 1)},
		}
		e.User.ID = r.owner.User.ID
		for range min(n, 1000) {
			if err := activity.Record(ctx, tx, e, r.db.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	const most = 50_000 // rows per statement: each has a timeout
	for have := min(n, 1000); err == nil && have < n; {
		more := min(have, n-have, most)
		err = r.db.InTx(r.t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				db.Exec(ctx, tx, `INSERT INTO activity (`+columns+`) SELECT `+columns+` FROM activity WHERE name = 'ada@example.com' ORDER BY id LIMIT $1`, more),
				db.Exec(ctx, tx, `INSERT INTO activity_unnumbered SELECT id, organization_id, scope FROM activity
					WHERE id > (SELECT MAX(activity_id) FROM (SELECT activity_id FROM activity_unnumbered UNION ALL SELECT activity_id FROM activity_numbers) AS there)`))
		})
		have += more
	}
	if err == nil {
		err = activity.NumberAll(r.t.Context(), r.db)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// maxStreamHeap is how much more memory may be in use while entries are streamed, however many.
const maxStreamHeap = 64 << 20

// A stream of any number of entries does not hold them in memory and misses none, and all of them can be verified.
func TestStreamOfManyEntries(t *testing.T) { // not parallel: it measures the memory of the whole process
	for _, url := range []string{"sqlite:" + filepath.Join(t.TempDir(), "foyer.db"), dbtest.Postgres(t)} {
		engine, _, _ := strings.Cut(url, ":")
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, dbtest.Open(t, url))
			r.fillActivity(*streamed)
			runtime.GC()
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, body := r.open(r.url, r.key, "/activity", "application/x-ndjson")
			var lines, bytes int
			var most uint64
			for all := bufio.NewScanner(body); all.Scan(); {
				lines++
				bytes += len(all.Bytes())
				if !strings.Contains(all.Text(), fmt.Sprintf(`"number":%d,`, lines)) {
					t.Fatalf("line %d: %s", lines, all.Text())
				}
				if lines%1000 == 0 {
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapInuse)
				}
			}
			grown := int64(most) - int64(before.HeapInuse)
			t.Logf("%d entries, %d MB in %s; the heap grew by %d KiB at most", lines, bytes>>20, time.Since(began).Round(time.Millisecond), max(0, grown)>>10)
			if lines < *streamed {
				t.Errorf("%d entries of %d", lines, *streamed)
			}
			if grown > maxStreamHeap {
				t.Errorf("the heap grew by %d bytes", grown)
			}
			began = time.Now()
			verified, err := activity.Verify(t.Context(), r.db, r.org.ID, activity.Kept{})
			t.Logf("%d entries verified in %s", verified.Entries, time.Since(began).Round(time.Millisecond))
			if err != nil || verified.Wrong != "" || verified.Entries != int64(lines) {
				t.Errorf("%+v, %v", verified, err)
			}
		})
	}
}

// Neither the answer nor its timing tells whether an address is a user's.
func TestSignInTakesTheSameTime(t *testing.T) {
	each(t, func(r *rig) {
		handler := r.api.Handler(func(*wire.Mux) {})
		var emails []string
		for i := range *requested {
			r.join(r.other, fmt.Sprintf("user%06d@x.example", i), access.Member)
			emails = append(emails, fmt.Sprintf("user%06d@x.example", i), fmt.Sprintf("none%06d@x.example", i))
		}
		rand.Shuffle(len(emails), func(i, j int) { emails[i], emails[j] = emails[j], emails[i] }) // so that other load on the machine affects both
		var took [2][]time.Duration
		for i, email := range emails {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/signin", strings.NewReader(`{"email":"`+email+`"}`))
			req.Header.Set("Content-Type", "application/json")
			req.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i>>8, i&0xff)
			w := httptest.NewRecorder()
			began := time.Now()
			handler.ServeHTTP(w, req)
			kind := 0
			if strings.HasPrefix(email, "none") {
				kind = 1
			}
			took[kind] = append(took[kind], time.Since(began))
			if w.Code != http.StatusAccepted || w.Body.String() != "{}\n" && w.Body.String() != "{}" {
				r.t.Fatalf("%s: %d %s", email, w.Code, w.Body)
			}
		}
		d, most := distance(took[0], took[1]), 2.69*math.Sqrt(2/float64(*requested)) // chance exceeds it one time in a million
		r.t.Logf("users: median %s, 95%% %s; others: median %s, 95%% %s; distance %.3f of at most %.3f", at(took[0], 50), at(took[0], 95), at(took[1], 50), at(took[1], 95), d, most)
		if d > most {
			r.t.Errorf("the times are not alike: distance %.3f of at most %.3f", d, most)
		}
	})
}

// at returns a percentile of sorted times.
func at(all []time.Duration, percent int) time.Duration {
	return all[(len(all)-1)*percent/100].Round(time.Microsecond)
}

// distance returns the Kolmogorov-Smirnov distance of two distributions, from 0 to 1. It sorts both.
func distance(a, b []time.Duration) (d float64) {
	slices.Sort(a)
	slices.Sort(b)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		next := min(a[i], b[j])
		for i < len(a) && a[i] == next {
			i++
		}
		for j < len(b) && b[j] == next {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}
