package sandbox

import (
	"fmt"
	"os"
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

// autopsy finds out why a child ended. Go's runtime prints which limit it ran
// into; a child that ended in silence was killed by the kernel, for its time if it used
// much: what the kernel limits and what it reports differ on a busy machine.
func autopsy(state *os.ProcessState, trace string) (reason string) {
	silent := trace == "" && state.ExitCode() == -1
	switch {
	case strings.Contains(trace, "stack overflow"):
		return "its input is nested too deeply"
	case silent && state.UserTime()+state.SystemTime() > MaxCPU/2:
		return fmt.Sprintf("it took more than %v of processor time", MaxCPU)
	case silent, outOfMemory(trace):
		return fmt.Sprintf("it used more than %d MB of memory", MaxMemory>>20)
	}
	return crashed
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
