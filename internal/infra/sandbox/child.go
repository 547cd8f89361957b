package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// command is the hidden command that makes this program a child.
const command = "sandbox"

// Exit codes that neither Go's runtime (2) nor the command line (1) uses.
const (
	exitTaskFailed = 3 // stderr has the task's own error
	exitOutOfTime  = 4 // the processor time is used up
)

// endOfError separates a task's error from text that Go's runtime may print after it, as it does in a build that measures
// coverage.
const endOfError = "\x00"

// Task is work done in a child. It reads hostile input and writes its answer. It has no network, no files and no
// environment, and can be cancelled only by ending its process. The text of its error reaches the caller of Pool.Run.
type Task func(in io.Reader, out io.Writer) error

// Main must be the first call of a program with tasks, with its arguments after the program's name. If they say that this
// process is a child, Main limits it, does the task and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, tasks map[string]Task) (code int, isChild bool) {
	if len(args) != 2 || args[0] != command {
		return 0, false
	}
	if err := work(args[1], stdin, stdout, tasks); err != nil {
		text := err.Error()
		text = text[:min(len(text), maxStderr-len(endOfError))]
		_, _ = io.WriteString(stderr, text+endOfError) // without stderr, nobody can be told
		return exitTaskFailed, true
	}
	return 0, true
}

func work(name string, stdin io.Reader, stdout io.Writer, tasks map[string]Task) error {
	task, ok := tasks[name]
	if !ok {
		return fmt.Errorf("no task named %q", name)
	}
	// Stopping the server signals all its processes, but requests in flight may finish. A child ends with its work, or
	// with the server.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	runtime.GOMAXPROCS(1) // a pool counts one core for each child
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(maxMemory * 3 / 4) // collect more often before the hard limit ends the process
	if err := confine(); err != nil {
		return fmt.Errorf("limit the child: %w", err)
	}
	return task(stdin, stdout)
}
