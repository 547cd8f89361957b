// Package dedup does what a form asks for only once: a double click sends it twice, and the
// browser shows the second answer.
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
	// remembered is how long an answer is kept: no longer than a second click may take,
	// since it may hold a key.
	remembered = time.Minute
	// maxRemembered bounds the bytes of all answers, each of which counts at least perAnswer.
	maxRemembered = 8 << 20
	perAnswer     = 2 << 10
)

// Name returns a name for a form that is about to be shown.
func Name() string { return rand.Text() }

// nameSize is the length of such a name.
const nameSize = 26

// Forms remembers recent answers to forms, by their names.
type Forms[T any] struct {
	flight  flight.Group[T]
	made    atomic.Int64                   // answers
	answers cache.Cache[string, answer[T]] // by who sent the form, and its name
}

// answer is what the content last sent as a form led to.
type answer[T any] struct {
	content string
	value   T
	number  int64 // no other answer has it
}

// New returns Forms without answers. Size is how many bytes an answer has where they may be many; nil: they are few.
func New[T any](size func(T) int) *Forms[T] {
	sizeOf := func(a answer[T]) int {
		if size == nil {
			return perAnswer
		}
		return perAnswer + size(a.value)
	}
	return &Forms[T]{answers: cache.Cache[string, answer[T]]{Max: maxRemembered, Size: sizeOf}}
}

// Do returns what do does, or did when the same sender sent the form with the same content last.
// A form without a name of ours is always done. An error is not remembered, nor what is larger than all may be. What has begun goes
// on even if its sender disconnects.
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

// forget removes an answer, unless there is a newer one to the same form.
func (f *Forms[T]) forget(key string, number int64) {
	if last, _ := f.answers.Get(key, cache.Unversioned); last.number == number {
		f.answers.Delete(key)
	}
}
