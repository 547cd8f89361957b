package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"foyer/internal/domain/activity"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/signin"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
)

const (
	tidyJob   = "tidy"
	tidyEvery = time.Hour

	expireJob   = "expire_invites"
	expireEvery = 30 * time.Second

	updatesJob   = "check_updates"
	updatesEvery = 5 * time.Minute // how often due upstreams are looked for

	failuresJob   = "signin_failures"
	failuresEvery = time.Minute
)

// mailJobs are the kinds of jobs that send a mail. Metrics count them, and Restore holds them.
var mailJobs = []string{invite.MailJob, signin.MailJob, addresschange.MailJob}

// work runs jobs until ctx is done.
func (s Server) work(ctx context.Context, d *Domain, m *metrics, background *sync.WaitGroup) error {
	kinds := map[string]job.Kind{
		tidyJob:     {Do: func(ctx context.Context, _ job.Job) error { return d.Tidy(ctx, s.Config.ActivityKeep) }, Every: tidyEvery},
		expireJob:   {Do: func(ctx context.Context, _ job.Job) error { return d.Invites.Expire(ctx) }, Every: expireEvery},
		failuresJob: {Do: func(ctx context.Context, _ job.Job) error { return d.SignIn.ReportFailures(ctx) }, Every: failuresEvery},
	}
	if s.Config.SMTP != "" {
		settings, err := mail.Parse(s.Config.SMTP)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Config.Blamed("SMTP"), err)
		}
		post := invite.Post{Service: d.Invites, SMTP: mail.SMTP{Settings: settings}, From: s.Config.MailFrom, Seen: m.mailed}
		mails := map[string]job.Kind{
			invite.MailJob:        post.Kind(),
			signin.MailJob:        signin.Post{Service: d.SignIn, SMTP: post.SMTP, From: post.From}.Kind(),
			addresschange.MailJob: addresschange.Post{Service: d.Addresses, SMTP: post.SMTP, From: post.From}.Kind(),
		}
		for _, name := range mailJobs { // so that none is done that Restore does not hold
			kinds[name] = mails[name]
		}
	}
	if every := s.Config.UpdateCheck; every > 0 {
		kinds[updatesJob] = job.Kind{Do: func(ctx context.Context, _ job.Job) error { return d.Plugins.CheckUpdates(ctx, every) }, Every: updatesEvery}
	}
	background.Go(func() { d.Jobs.Run(ctx, s.Log, kinds) })
	background.Go(func() { d.Events.Run(ctx, s.Log) })
	background.Go(func() {
		activity.Chain(ctx, d.DB, func(err error) { s.Log.ErrorContext(ctx, "number the activity", "error", err.Error()) })
	})
	return nil
}

// Tidy removes rows that are kept only for a time; it keeps activity if keepActivity is 0. If one part fails, the
// others still run.
func (d *Domain) Tidy(ctx context.Context, keepActivity time.Duration) (failed error) {
	for _, kept := range []struct {
		name string
		tidy func(context.Context) error
	}{
		{"invites", d.Invites.Tidy},
		{"keys", d.Keys.Tidy},
		{"apps", d.Plugins.Tidy},
		{"sites", d.Sites.Tidy},
		{"sign-ins", d.SignIn.Tidy},
		{"changes of addresses", d.Addresses.Tidy},
		{"events", d.Events.Tidy},
		{"activity", func(ctx context.Context) error {
			if keepActivity == 0 {
				return nil
			}
			return activity.Tidy(ctx, d.DB, d.DB.Now().Add(-keepActivity))
		}},
	} {
		if err := kept.tidy(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("tidy %s: %w", kept.name, err))
		}
	}
	return failed
}
