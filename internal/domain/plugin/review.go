package plugin

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
)

// Review is the version that an upgrade would lead to.
type Review struct {
	Version      // with the number 0 if it is not stored
	Keeps   bool // it does not compile, and keeps the bundle of an earlier version
	Files   []source.Diff
}

// Review returns what Upgrade would do, without doing it. It fetches and compiles the version if it is not stored.
func (s Service) Review(ctx context.Context, c access.Caller, id int64, m Move) (Review, error) {
	p, o, err := s.toMove(ctx, c, id, &m)
	if err != nil {
		return Review{}, err
	}
	if o.URLKey == "" && m.Version.Value == "" {
		return Review{}, fault.Field(fault.Invalid, "version", "Must be given: the app has no upstream, only versions of its own.")
	}
	to, _, err := s.findTarget(ctx, p, o, m)
	if err != nil {
		return Review{}, err
	}
	leave, err := s.Diffs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return Review{}, err
	}
	defer leave()
	return s.review(ctx, c, id, m, to)
}

// review compares the target with the version that the plugin is at now, after its upstream was asked.
func (s Service) review(ctx context.Context, c access.Caller, id int64, m Move, to target) (Review, error) {
	r := Review{Version: to.stored}
	var before, after map[string]string
	if f := to.fetched; f != nil {
		r.Version = f.version()
		r.Schema = string(f.manifest.Config)
		after = source.Texts(f.files)
	}
	if err := r.refuseWithdrawn(m.field()); err != nil {
		return Review{}, err
	}
	err := s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		p, err := s.findOwn(ctx, q, c, id, "")
		if err != nil {
			return err
		}
		o, from, err := originAndVersion(ctx, q, p)
		if err != nil {
			return err
		}
		if to.fetched != nil {
			r.Version, r.Keeps = to.fetched.as(r.Version, from)
		} else if r.Keeps, err = keepsBundle(ctx, q, r.Version); err != nil {
			return err
		}
		if err := refuseWithdrawnBundle(ctx, q, o.PluginID, r.Bundle); err != nil {
			return err
		}
		if before, err = texts(ctx, q, from); err != nil || to.fetched != nil {
			return err
		}
		after, err = texts(ctx, q, to.stored)
		return err
	})
	if err != nil {
		return Review{}, err
	}
	r.Files, err = source.Compare(ctx, before, after)
	return r, err
}
