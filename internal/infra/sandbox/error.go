package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// TaskError is a task's own error, carried over from the child as text.
type TaskError struct{ Text string }

func (e *TaskError) Error() string { return e.Text }

// KilledError says that a child did not live to answer.
type KilledError struct {
	Reason string // which limit was hit, safe to show: "it used more than 512 MB of memory"
}

func (e *KilledError) Error() string { return "stopped: " + e.Reason }

// crashed is the Reason of a child that ended at none of its limits.
const crashed = "it crashed"

// errEndedFromOutside means that a child was ended by neither itself nor its parent. Most likely it
// was the kernel, which had no memory left: that says nothing about the child's input.
var errEndedFromOutside = errors.New("ended from outside, as the kernel does when memory is short")

// exitReason finds out why a child ended: by itself at each of its limits, of which Go's
// runtime prints most.
func exitReason(exitCode int, trace string) (reason string, err error) {
	switch {
	case exitCode == exitOutOfTime:
		return fmt.Sprintf("it took more than %v of processor time", maxCPU), nil
	case exitCode == -1:
		return "", errEndedFromOutside
	case strings.Contains(trace, "stack overflow"):
		return "its input is nested too deeply", nil
	case outOfMemory(trace):
		return fmt.Sprintf("it used more than %d MB of memory", maxMemory>>20), nil
	}
	return crashed, nil
}

// stacks is the head of the stacks in a trace. What comes before them is left out: a
// panic may quote the input, but Go indents its lines, so that none passes for a stack.
func stacks(trace string) string {
	at := strings.Index(trace, "\ngoroutine ")
	if at < 0 {
		return ""
	}
	return trace[at+1 : min(len(trace), at+1+maxLogged)]
}

// outOfMemory looks for the words of Go's runtime, the kernel and the race detector.
func outOfMemory(trace string) bool {
	return strings.Contains(trace, "out of memory") ||
		strings.Contains(trace, "cannot allocate memory") ||
		strings.Contains(trace, "failed to allocate")
}
