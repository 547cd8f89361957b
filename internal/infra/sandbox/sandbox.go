// Package sandbox runs this binary again as a limited child, for work on hostile input: whatever the input does to the
// child, the server survives.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
)

// Limits of one child.
const (
	maxMemory = 512 << 20        // bytes, in addition to what the program maps at its start
	maxCPU    = 5 * time.Second  // processor time; whole seconds
	maxWall   = 15 * time.Second // time from start to end
	littleCPU = 1 * time.Second  // a child with less in maxWall had no chance on a busy machine
	maxAnswer = 16 << 20         // bytes of answer
	maxStack  = 64 << 20         // bytes of one goroutine's stack
	maxStderr = 64 << 10         // bytes: enough for any error and the beginning of any crash
	maxLogged = 4 << 10          // bytes of a crash's stacks
)

// errWall is the cause when a child is ended because its time is up.
var errWall = errors.New("out of time")

// Pool limits how many children run and how many callers wait for one.
type Pool struct {
	queue *fair.Queue
	log   *slog.Logger
}

// New returns a pool of at most workers children at once, with at most queue waiting callers. Crashes are logged to log.
func New(workers, queue int, log *slog.Logger) *Pool {
	return &Pool{fair.New(workers, queue, "Too much work of this kind is waiting"), log}
}

// Running returns how many children run now.
func (p *Pool) Running() int { return p.queue.Inside() }

// Waiting returns how many callers wait for a child now.
func (p *Pool) Waiting() int { return p.queue.Waiting() }

// Run runs the named task in a new child with in as its input, and returns the task's output. A free slot goes to the
// tenant with the fewest running children. The error is a *KilledError if the child crashed or exceeded a limit, a fault
// of kind Busy if too many callers wait or the machine is too busy, the text of the task's own error if the task failed,
// and none of these if the child was ended from outside. The task may end without reading all of in; if in is neither in
// memory nor a file, its Read must not block forever.
func (p *Pool) Run(ctx context.Context, tenant, task string, in io.Reader) ([]byte, error) {
	leave, err := p.queue.Enter(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := p.run(ctx, task, in)
	if err != nil {
		return nil, err
	}
	return answer, inflight.From(ctx).Take(2 * len(answer)) // decoding copies it
}

func (p *Pool) run(ctx context.Context, task string, in io.Reader) ([]byte, error) {
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	ctx, cancel := withWall(ctx, maxWall)
	defer cancel()
	answer, complaint := capped{max: maxAnswer}, capped{max: maxStderr}
	cmd := exec.CommandContext(ctx, self, command, task)
	cmd.Dir = "/"
	cmd.Env = environment() // nil would pass on the server's variables, secrets included
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &answer, &complaint
	cmd.WaitDelay = maxWall // for an in whose Read blocks; the answer of an ended child may be read late
	cmd.SysProcAttr = apart()

	// The kernel ends the child when the thread that started it ends, so this thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()

	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case answer.over:
		return nil, &KilledError{Reason: fmt.Sprintf("it answered more than %d MB", maxAnswer>>20)}
	case err == nil:
		return answer.kept.Bytes(), nil
	case errors.Is(context.Cause(ctx), errWall) && processorTime(cmd) < littleCPU:
		return nil, fault.Later(fault.Busy, maxWall, "The server is too busy to do this within %v; try again.", maxWall)
	case errors.Is(context.Cause(ctx), errWall):
		return nil, &KilledError{Reason: fmt.Sprintf("it took longer than %v", maxWall)}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !exited:
		return nil, fmt.Errorf("run %s in a child: %w", task, err)
	case exit.ExitCode() == exitTaskFailed:
		text, _, _ := strings.Cut(complaint.kept.String(), endOfError)
		return nil, errors.New(text)
	}
	reason, err := exitReason(exit.ExitCode(), complaint.kept.String())
	if err != nil {
		return nil, fmt.Errorf("run %s in a child: %w: %w", task, exit, err)
	}
	if reason == crashed {
		p.log.ErrorContext(ctx, "child crashed", "task", task, "exit", exit.Error(), "stacks", stacks(complaint.kept.String()))
	}
	return nil, &KilledError{reason}
}

// withWall returns a context that ends with errWall after a time limit. The limit is counted in ticks: while the server
// stands still, such as on a paused virtual machine, its children do too, and at most one tick passes.
func withWall(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	const ticks = 15
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(limit / ticks)
		defer tick.Stop()
		for range ticks {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(errWall)
	}()
	return ctx, func() { cancel(nil) }
}

// processorTime returns how much processor time an ended child has used; 0: it did not start.
func processorTime(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// capped keeps the first max bytes written to it and refuses the rest. It does not embed its buffer, because the buffer's
// ReadFrom would bypass Write.
type capped struct {
	kept bytes.Buffer
	max  int
	over bool
}

func (c *capped) Write(b []byte) (int, error) {
	if room := c.max - c.kept.Len(); len(b) > room {
		c.over = true
		c.kept.Write(b[:room])
		return room, io.ErrShortWrite
	}
	return c.kept.Write(b)
}
