package console

import (
	"context"
	"sync"
	"time"

	"foyer/internal/flight"
)

const (
	// onceFor is how long a form that was accepted is remembered.
	onceFor = time.Minute
	// maxOnce bounds how many such forms there are.
	maxOnce = 1000
)

// once has each form accepted once: a double click sends it twice, and what the browser
// shows is the second answer.
type once struct {
	now    func() time.Time
	flight flight.Group[Page]

	mu      sync.Mutex
	answers map[string]answered // by form
}

type answered struct {
	page Page
	at   time.Time
}

// do returns what accept does, or has answered to the same form.
func (o *once) do(ctx context.Context, form string, accept func(context.Context) (Page, error)) (Page, error) {
	return o.flight.Do(ctx, form, func(ctx context.Context) (Page, error) {
		if page, ok := o.recall(form); ok {
			return page, nil
		}
		page, err := accept(ctx)
		if err == nil {
			o.keep(form, page)
		}
		return page, err
	})
}

func (o *once) recall(form string) (Page, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, ok := o.answers[form]
	return a.page, ok && o.now().Sub(a.at) < onceFor
}

func (o *once) keep(form string, page Page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	for form, a := range o.answers {
		if now.Sub(a.at) >= onceFor {
			delete(o.answers, form)
		}
	}
	if o.answers == nil || len(o.answers) >= maxOnce {
		o.answers = map[string]answered{}
	}
	o.answers[form] = answered{page, now}
}
