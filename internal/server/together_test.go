package server_test

import (
	"fmt"
	"sync"
	"testing"

	"foyer/client"
)

// Sixty simultaneous saves by thirty clients of one organization all succeed.
func TestSavesTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		var all sync.WaitGroup
		ready := make(chan struct{})
		clients := 30
		if raceEnabled { // its compiler takes ten times as long, and requests wait at most a minute
			clients = 8
		}
		for i := range clients {
			app := must(s.CreateApp(t.Context(), client.AppDraft{Name: fmt.Sprint("App ", i)}))(t)
			all.Go(func() {
				<-ready
				draft := client.AppDraft{Name: "Whole", Source: map[string]string{"site.ts": site}}
				if _, err := s.CreateApp(t.Context(), draft); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				<-ready
				_, err := s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new(site)}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(ready)
		all.Wait()
	})
}
