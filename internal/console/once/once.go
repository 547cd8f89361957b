// Package once does what a form asks for only once: a double click sends it twice, and the
// browser shows the second answer.
package once

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"foyer/internal/flight"
)

const (
	// remembered is how long an answer is kept: no longer than a second click may take,
	// since it may hold a key.
	remembered = time.Minute
	// maxRemembered bounds how many answers there are.
	maxRemembered = 1000
)

// Name returns a name for a form that is about to be shown.
func Name() string { return rand.Text() }

// nameSize is the length of such a name.
const nameSize = 26

// Forms remembers recent answers to forms, by their names. The zero Forms is ready.
type Forms[T any] struct {
	flight flight.Group[T]

	mu      sync.Mutex
	answers map[string]*answer[T] // by who sent the form, and its name
}

// answer is what the content last sent as a form led to.
type answer[T any] struct {
	content string
	value   T
}

// Do returns what do does, or did when the same sender sent the form with the same content last.
// A form without a name of ours is always done. An error is not remembered. What has begun goes
// on even if its sender hangs up.
func (f *Forms[T]) Do(ctx context.Context, sender, form, content string, do func(context.Context) (T, error)) (T, error) {
	if len(form) != nameSize {
		return do(ctx)
	}
	key := sender + " " + form
	return f.flight.Do(ctx, key+" "+content, func(ctx context.Context) (T, error) {
		if done := f.recall(key); done != nil && done.content == content {
			return done.value, nil
		}
		value, err := do(ctx)
		if err == nil {
			f.keep(key, &answer[T]{content, value})
		}
		return value, err
	})
}

func (f *Forms[T]) recall(key string) *answer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers[key]
}

func (f *Forms[T]) keep(key string, done *answer[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answers == nil || len(f.answers) >= maxRemembered {
		f.answers = map[string]*answer[T]{}
	}
	f.answers[key] = done
	time.AfterFunc(remembered, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.answers[key] == done { // else a later answer has taken its place
			delete(f.answers, key)
		}
	})
}
