// Package panics turns panics into errors.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic, with the stack of its goroutine.
type Error struct{ error }

// From returns the Error for what recover has returned, which must not be nil.
func From(recovered any) Error {
	return Error{fmt.Errorf("panic: %v\n%s", recovered, debug.Stack())}
}

// Catch returns the error of fn, or an Error if fn panics.
func Catch(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = From(p)
		}
	}()
	return fn()
}
