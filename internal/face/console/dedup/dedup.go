// Package dedup does what a form asks for only once: a double click sends the form twice, and the browser shows the
// second answer.
package dedup

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/flight"
)

const (
	// remembered is how long an answer is kept: no longer than a second click may take, since the answer may hold a key.
	remembered = time.Minute
	// maxRemembered bounds the bytes of all answers. Each counts as perAnswer at least.
	maxRemembered = 8 << 20
	perAnswer     = 2 << 10
)

// Name returns a name for a form that is about to be shown.
func Name() string { return rand.Text() }

// nameSize is the length of a name.
const nameSize = 26

// Forms remembers recent answers to forms, by the names of the forms.
type Forms[T any] struct {
	flight  flight.Group[T]
	made    atomic.Int64                   // answers
	answers cache.Cache[string, answer[T]] // by the form's sender and name
}

// answer is the result of the content that was last sent as a form.
type answer[T any] struct {
	content string
	value   T
	number  int64 // unique to this answer
}

// New returns Forms without answers. Size returns the bytes of an answer; nil: answers are small.
func New[T any](size func(T) int) *Forms[T] {
	sizeOf := func(a answer[T]) int {
		if size == nil {
			return perAnswer
		}
		return perAnswer + size(a.value)
	}
	return &Forms[T]{answers: cache.Cache[string, answer[T]]{Max: maxRemembered, Size: sizeOf}}
}

// Do returns what do returns, or what it returned when the same sender last sent the form with the same content. A form without a
// name of ours is always done. Errors are not remembered, nor are answers larger than the bound for all. A run that has begun goes
// on even if its client disconnects.
func (f *Forms[T]) Do(ctx context.Context, sender, form, content string, do func(context.Context) (T, error)) (T, error) {
	if len(form) != nameSize {
		return do(ctx)
	}
	key := sender + " " + form
	return f.flight.Do(ctx, key+" "+content, func(ctx context.Context) (T, error) {
		last, known := f.answers.Get(key, cache.Unversioned)
		if known && last.content == content {
			return last.value, nil
		}
		value, err := do(ctx)
		if err != nil {
			return value, err
		}
		number := f.made.Add(1)
		f.answers.Put(key, cache.Unversioned, answer[T]{content, value, number})
		time.AfterFunc(remembered, func() { f.forget(key, number) })
		return value, nil
	})
}

// forget removes an answer, unless the same form has a newer one.
func (f *Forms[T]) forget(key string, number int64) {
	if last, _ := f.answers.Get(key, cache.Unversioned); last.number == number {
		f.answers.Delete(key)
	}
}
