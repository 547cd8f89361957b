package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// KilledError says that a child ended before it answered.
type KilledError struct {
	Reason string // the limit that was exceeded, safe to show: "it used more than 512 MB of memory"
}

func (e *KilledError) Error() string { return "stopped: " + e.Reason }

// crashed is the Reason of a child that ended without exceeding a limit.
const crashed = "it crashed"

// errEndedFromOutside means that neither the child nor its parent ended the child. Most likely the kernel did because it
// was out of memory, which says nothing about the child's input.
var errEndedFromOutside = errors.New("ended from outside, as the kernel does when memory is short")

// errNoThread means that the child had too few threads to work, whatever its input.
var errNoThread = errors.New("the system's limit on processes and threads leaves none (TasksMax=, pids.max or ulimit -u)")

// exitReason finds out why a child ended. A child that exceeds a limit ends itself, and for most limits Go's runtime
// prints the reason.
func exitReason(exitCode int, trace string) (reason string, err error) {
	switch {
	case exitCode == exitOutOfTime:
		return fmt.Sprintf("it took more than %v of processor time", maxCPU), nil
	case exitCode == -1:
		return "", errEndedFromOutside
	case outOfThreads(trace):
		return "", errNoThread
	case strings.Contains(trace, "stack overflow"):
		return "its input is nested too deeply", nil
	case outOfMemory(trace):
		return fmt.Sprintf("it used more than %d MB of memory", maxMemory>>20), nil
	}
	return crashed, nil
}

// stacks returns the beginning of the stacks in a trace. It leaves out the text before them: a panic may quote the input,
// but Go indents its lines, so that none looks like a stack.
func stacks(trace string) string {
	at := strings.Index(trace, "\ngoroutine ")
	if at < 0 {
		return ""
	}
	return trace[at+1 : min(len(trace), at+1+maxLogged)]
}

// outOfThreads looks for the words of Go's runtime, without and with cgo.
func outOfThreads(trace string) bool {
	return strings.Contains(trace, "failed to create new OS thread") || strings.Contains(trace, "pthread_create failed")
}

// outOfMemory looks for the words of Go's runtime, the kernel and the race detector.
func outOfMemory(trace string) bool {
	return strings.Contains(trace, "out of memory") ||
		strings.Contains(trace, "cannot allocate memory") ||
		strings.Contains(trace, "failed to allocate")
}
