package invitation

import (
	"context"
	"sync"
	"time"

	"foyer/internal/console/markup"
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
	flight flight.Group[markup.Page]

	mu      sync.Mutex
	answers map[string]markup.Page // by form
}

// do returns what accept does, or has answered to the same form.
func (o *once) do(ctx context.Context, form string, accept func(context.Context) (markup.Page, error)) (markup.Page, error) {
	return o.flight.Do(ctx, form, func(ctx context.Context) (markup.Page, error) {
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

func (o *once) recall(form string) (markup.Page, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	page, ok := o.answers[form]
	return page, ok
}

// keep remembers a page, which has a key, for no longer than that makes sense.
func (o *once) keep(form string, page markup.Page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.answers == nil || len(o.answers) >= maxOnce {
		o.answers = map[string]markup.Page{}
	}
	o.answers[form] = page
	time.AfterFunc(onceFor, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.answers, form)
	})
}
