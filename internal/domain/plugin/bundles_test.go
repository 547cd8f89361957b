package plugin

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/infra/bundle"
)

// Bundles that are not in memory wait for their turn or are refused; bundles in memory do not wait.
func TestBundlesTakeTurns(t *testing.T) {
	each(t, func(r rig) {
		var tokens []string
		for i := range 3 {
			p := r.create(Draft{Name: patch.Of("x"), Type: patch.Of("source")})
			tokens = append(tokens, r.save(p.ID, "site.ts", patch.Of(fmt.Sprint("export const n = ", i))).PublicToken)
		}
		serve := func(token string) error {
			_, err := r.Bundles.Serve(r.Context(), token, "")
			return err
		}
		if err := serve(tokens[0]); err != nil {
			r.Fatal(err)
		}
		r.Bundles.Loads = fair.New(1, 1, "Full")
		leave, err := r.Bundles.Loads.Enter(r.Context(), "another organization")
		if err != nil {
			r.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- serve(tokens[1]) }()
		for r.Bundles.Loads.Waiting() == 0 {
			select {
			case err := <-served:
				r.Fatalf("out of turn: %v", err)
			default:
				runtime.Gosched()
			}
		}
		if err := serve(tokens[0]); err != nil {
			r.Errorf("in memory: %v", err)
		}
		leave()
		if err := <-served; err != nil {
			r.Errorf("in turn: %v", err)
		}
		r.Bundles.Loads = fair.New(0, 0, "Full")
		if err := serve(tokens[2]); !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter == 0 {
			r.Errorf("no room: %v", err)
		}
	})
}

// One organization's compiles, however many, do not block another's save.
func TestCompilesOfAnotherOrganization(t *testing.T) {
	each(t, func(r rig) {
		const many = 40
		var refused atomic.Int64
		var feeds []*io.PipeWriter
		var all sync.WaitGroup
		for range many {
			in, feed := io.Pipe() // the compiler reads it to its end
			feeds = append(feeds, feed)
			all.Go(func() {
				if _, err := r.Children.Run(r.Context(), "another organization", bundle.TaskName, in); fault.Is(err, fault.Busy) {
					refused.Add(1)
				}
			})
		}
		for int(refused.Load())+r.Children.Running()+r.Children.Waiting() < many {
			runtime.Gosched()
		}
		if refused.Load() == 0 {
			r.Error("the other organization has room for more")
		}
		p := r.create(named("x"))
		if saved := r.save(p.ID, "site.ts", patch.Of("export const a = 1")); saved.Bundle.SHA256 == "" {
			r.Errorf("got %+v", saved)
		}
		for _, feed := range feeds {
			feed.Close()
		}
		all.Wait()
	})
}

// A version without a bundle is not found, and not an error.
func TestNoBundle(t *testing.T) {
	each(t, func(r rig) {
		saved := r.save(r.create(named("x")).ID, "a.md", patch.Of("no script"))
		if _, err := r.Bundles.Serve(r.Context(), saved.PublicToken, ""); !fault.Is(err, fault.NotFound) {
			r.Error(err)
		}
	})
}
