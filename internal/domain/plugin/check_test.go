package plugin

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

// another is a server on the same database that has asked no upstream yet.
func (r rig) another(allow []netip.Prefix) rig {
	r.Upstream = upstream.New(egress.New(allow), r.Children, r.DB.Now)
	return r
}

// publish makes an app in a new repository, at v1.0.0.
func (r rig) publish(host *upstreamtest.Host) *upstreamtest.Repo {
	r.Helper()
	repo := host.Repo(r, "app")
	repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "x"}`}))
	return repo
}

// check fails unless the answer has the given newest tag and is fresh or not, as given.
func (r rig) check(id int64, latest string, fresh bool) {
	r.Helper()
	p, age, err := r.CheckForUpdates(r.Context(), r.caller, id)
	if err != nil || p.LatestTag != latest || (age == 0) != fresh {
		r.Errorf("%q, %v old, %v; want %q", p.LatestTag, age, err, latest)
	}
}

// install makes a plugin from a repository.
func (r rig) install(repo *upstreamtest.Repo) Plugin {
	r.Helper()
	return r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL)})
}

func (r rig) checkedAt(id int64) time.Time {
	r.Helper()
	o, err := originOf(r.Context(), r.DB, r.caller.Organization.ID, id)
	if err != nil {
		r.Fatal(err)
	}
	return o.CheckedAt
}

// A server's cached answer does not undo what another server has learned since, nor count as the last one. A check that
// finds nothing new does not change the app.
func TestCheckAfterAnotherServer(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		r = r.another(upstreamtest.Allow()) // with the clock of r
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		r.check(p.ID, "v1.0.0", true)
		pass(upstream.CheckInterval)
		r.check(p.ID, "v1.0.0", true)
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got != p {
			r.Errorf("nothing is new, and the app is %+v, %v", got, err)
		}
		pass(time.Second)
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		other := r.another(upstreamtest.Allow())
		p, err := other.Upgrade(r.Context(), r.caller, p.ID, Move{})
		if err != nil || p.LatestTag != "v2.0.0" {
			r.Fatalf("%+v, %v", p, err)
		}
		learned := r.checkedAt(p.ID)
		pass(time.Second)
		if got, age, err := r.CheckForUpdates(r.Context(), r.caller, p.ID); err != nil || got.LatestTag != "v2.0.0" || age != time.Second {
			r.Errorf("%q, %v old, %v", got.LatestTag, age, err)
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.LatestTag != "v2.0.0" || got.Revision != p.Revision {
			r.Errorf("stored %+v, %v; want %+v", got, err, p)
		}
		if at := r.checkedAt(p.ID); !at.Equal(learned) {
			r.Errorf("learned at %v, not %v", at, learned)
		}
	})
}

// A tag that was learned while the clock was ahead counts as older than an upstream's answer now, whichever call asks.
func TestCheckAfterClockStepsBack(t *testing.T) {
	t.Parallel()
	ask := map[string]func(r rig, id int64){
		"check": func(r rig, id int64) { r.check(id, "v2.0.0", true) },
		"upgrade": func(r rig, id int64) {
			if p, err := r.Upgrade(r.Context(), r.caller, id, Move{}); err != nil || p.LatestTag != "v2.0.0" {
				r.Errorf("%+v, %v", p, err)
			}
		},
		"background": func(r rig, id int64) {
			r.checkUpdates()
			if tags := r.told(id); len(tags) != 1 {
				r.Errorf("told of %q", tags)
			}
		},
	}
	for name, how := range ask {
		t.Run(name, func(t *testing.T) {
			each(t, func(r rig) {
				pass := r.clock()
				r.Shown = func(b []byte, p Plugin) []byte { return append(b, `"`+p.LatestTag+`"`...) }
				repo := r.publish(upstreamtest.NewHost(r))
				p := r.install(repo)
				r.checkUpdates() // sets the first due time
				repo.Tag(r, "v2.0.0", "refs/heads/main")
				pass(-24 * time.Hour)
				r = r.another(upstreamtest.Allow())
				how(r, p.ID)
				got, err := r.Get(r.Context(), r.caller, p.ID)
				if at, now := r.checkedAt(p.ID), r.DB.Now(); err != nil || got.LatestTag != "v2.0.0" || !at.Equal(now) {
					r.Errorf("%+v, %v; learned at %v, it is %v", got, err, at, now)
				}
			})
		})
	}
}

// An upstream fails if it may no longer be asked, or has nothing left to install.
func TestCheckOfRefusedUpstream(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		r.another(nil).check(p.ID, "v1.0.0", false)
		repo.Git(r, "", "update-ref", "-d", "refs/tags/v1.0.0")
		repo.Git(r, "", "update-ref", "-d", "refs/heads/main")
		r.another(upstreamtest.Allow()).check(p.ID, "v1.0.0", false)
	})
}

// An upstream fails if its credentials were sealed under another secret. Calls that need them say why, and leave the
// app unchanged.
func TestOtherSecret(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		url := strings.Replace(repo.URL, "://", "://joe:hunter2@", 1)
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(url)})
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		r.Box.Secret = "another secret"
		r.check(p.ID, "v1.0.0", false)
		_, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{})
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "url: ") || !strings.Contains(err.Error(), "FOYER_SECRET") ||
			strings.Contains(err.Error(), "joe") || strings.Contains(err.Error(), "hunter2") {
			r.Errorf("upgrade: %v", err)
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Revision != p.Revision || got.Tag != p.Tag {
			r.Errorf("stored %+v, %v; want %+v", got, err, p)
		}
		if _, err := r.SetCredentials(r.Context(), r.caller, p.ID, url); err != nil {
			r.Fatal(err)
		}
		if p, err = r.Upgrade(r.Context(), r.caller, p.ID, Move{}); err != nil || p.Tag != "v2.0.0" {
			r.Errorf("with credentials given anew: %+v, %v", p, err)
		}
	})
}

// An upgrade that asks the upstream stores the newest tag, even when it goes to a stored version; an upgrade that does
// not ask stores none.
func TestUpgradeLearns(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "y"}`}))
		upgrade := func(tag, arrives, latest string, asks bool) {
			r.Helper()
			requests, learned := host.Requests(), r.checkedAt(p.ID)
			got, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: Draft{Tag: patch.Of(tag)}})
			if err != nil || got.Tag != arrives || got.LatestTag != latest {
				r.Errorf("to %q: at %s, %s is the newest, %v; want %s, %s", tag, got.Tag, got.LatestTag, err, arrives, latest)
			}
			if asked := host.Requests() > requests; asked != asks || r.checkedAt(p.ID).After(learned) != asks {
				r.Errorf("to %q: asked %v, learned at %v, before at %v", tag, asked, r.checkedAt(p.ID), learned)
			}
			if stored, err := r.Get(r.Context(), r.caller, p.ID); err != nil || stored != got {
				r.Errorf("to %q: stored %+v, %v; answered %+v", tag, stored, err, got)
			}
		}
		upgrade("", "v2.0.0", "v2.0.0", true)
		repo.Git(r, "", "update-ref", "-d", "refs/tags/v2.0.0")
		upgrade("", "v1.0.0", "v1.0.0", true)
		repo.Tag(r, "v3.0.0", "refs/heads/main")
		upgrade("v2.0.0", "v2.0.0", "v1.0.0", false)
		upgrade("v1.0.0", "v1.0.0", "v1.0.0", false)
		upgrade("v1.0.0", "v1.0.0", "v3.0.0", true)
		repo.Git(r, "", "update-ref", "-d", "refs/tags/v1.0.0")
		repo.Tag(r, "v4.0.0", "refs/heads/main")
		upgrade("v1.0.0", "v1.0.0", "v4.0.0", true)
	})
}

// A check that is made while an upgrade fetches a version is newer than what the upgrade was told.
func TestCheckDuringUpgrade(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "y"}`}))
		during(host, func() {
			repo.Tag(r, "v3.0.0", "refs/heads/main")
			r.another(upstreamtest.Allow()).check(p.ID, "v3.0.0", true)
		})
		p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{})
		if err != nil || p.Tag != "v2.0.0" || p.LatestTag != "v3.0.0" {
			r.Errorf("upgraded to %s, %s is the newest, %v", p.Tag, p.LatestTag, err)
		}
	})
}

// Without an upstream the newest tag is the plugin's own, even if that changes during the check.
func TestCheckDuringUpdate(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("x"), Tag: patch.Of("v1")})
		r.update(p.ID, Draft{Tag: patch.Of("v2")})
		learned, _, err := r.storeLatest(r.Context(), r.caller, p.ID, "", latestTag{tag: p.Tag})
		if err != nil || learned.LatestTag != "v2" {
			r.Errorf("learned %+v, %v", learned, err)
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Tag != "v2" || got.LatestTag != "v2" {
			r.Errorf("stored %+v, %v", got, err)
		}
	})
}
