package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// However many views the pages of one site report, there is room for those of another. Views with a key that is in memory
// already still count.
func TestViewsOfOneSite(t *testing.T) {
	each(t, func(r rig) {
		began := r.DB.Now()
		now := began
		r.DB.Now = func() time.Time { return now }
		noisy, quiet := Site{ID: 1, OrganizationID: "noisy"}, Site{ID: 2, OrganizationID: "quiet"}
		const many = 20
		ran := map[Version]bool{}
		for i := range many {
			ran[Version{int64(i), 1}] = true
		}
		report := func(s Site, apps int, ms int64) {
			var all []string
			for i := range apps {
				all = append(all, fmt.Sprintf(`{"id":%d,"version":1,"state":"running","ms":%d}`, i, ms))
			}
			read, ok := Read([]byte(`{"apps":[` + strings.Join(all, ",") + `]}`))
			if !ok {
				r.Fatal("not read")
			}
			r.Take(s, read, ran)
		}
		noted := func(s Site) (views int64) {
			for key, n := range r.views {
				if key.site == s {
					views += n
				}
			}
			return views
		}
		for now.Sub(began) < maxPending/many/(maxBucket/2)*time.Minute {
			for bucket := range maxBucket {
				report(noisy, many, timeOf(bucket))
			}
			now = now.Add(time.Minute)
		}
		report(quiet, 1, 5)
		now = began
		before := noted(noisy)
		report(noisy, many, 5)
		if noted(quiet) != 1 || noted(noisy) != before+many {
			r.Errorf("%d views of one site; %d of the other, then %d", noted(quiet), before, noted(noisy))
		}
	})
}
