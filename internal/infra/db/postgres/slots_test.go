package postgres

import (
	"testing"
	"testing/synctest"
	"time"
)

// A caller for whose slot PostgreSQL had no connection does not wait behind those that came later.
func TestKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, came := newSlots(4, 4), time.Now() // two of a use
		var order []string
		enter := func(name string, until time.Time) slot {
			got, err := s.enter(t.Context(), false, until)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			order = append(order, name)
			return got
		}
		connected := enter("connected", came.Add(time.Minute))
		tried := enter("tried", came.Add(time.Minute+1))
		for later := range 2 {
			go func() { s.leave(enter("later", came.Add(2*time.Minute+time.Duration(later)))) }()
		}
		synctest.Wait()
		s.shrink(tried, 0)
		go func() { s.leave(enter("again", came.Add(time.Minute+1))) }()
		synctest.Wait()
		s.leave(connected)
		synctest.Wait()
		if len(order) != 5 || order[2] != "again" {
			t.Error(order)
		}
	})
}
