// Package sandbox runs this binary again as a limited child, for work on hostile
// input: whatever the input does to the child, the server lives.
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

// What one child may use.
const (
	maxMemory = 512 << 20        // bytes, on top of what the program maps when it starts
	maxCPU    = 5 * time.Second  // processor time; whole seconds
	maxWall   = 15 * time.Second // time from start to end
	littleCPU = 1 * time.Second  // with less in maxWall, the machine was busy
	maxAnswer = 16 << 20         // bytes of answer
	maxStack  = 64 << 20         // bytes of one goroutine's stack
	maxStderr = 64 << 10         // bytes: holds any error and the head of any crash
	maxLogged = 4 << 10          // bytes of a crash's stacks
)

// errWall is the cause of a child's end when its time is over.
var errWall = errors.New("out of time")

// Pool bounds how many children run and how many callers wait for one.
type Pool struct {
	queue *fair.Queue
	log   *slog.Logger
}

// New returns a pool of at most workers children at once, while at most queue
// callers wait. Where one crashed goes to log.
func New(workers, queue int, log *slog.Logger) *Pool {
	return &Pool{fair.New(workers, queue, "Too much work of this kind is waiting"), log}
}

// Running is how many children run now.
func (p *Pool) Running() int { return p.queue.Inside() }

// Waiting is how many callers wait for a child now.
func (p *Pool) Waiting() int { return p.queue.Waiting() }

// Run feeds in to the named task, in a new child, and returns what the task wrote. A
// place that becomes free goes to the tenant for which the fewest run. The error is a
// *TaskError if the task itself failed, a *KilledError if the child was stopped at a
// limit or crashed, a fault of kind Busy if too many callers wait or others keep the machine
// busy, and none of these if the child was ended from outside. The task may end without
// reading all of in; if in is neither in memory nor a file, its Read must not block forever.
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
	return answer, inflight.From(ctx).Take(2 * len(answer)) // it is copied when it is understood
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
	cmd.Env = environment() // nil would hand down the server's, secrets included
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &answer, &complaint
	cmd.WaitDelay = maxWall // for an in whose Read blocks; what a child that has ended has answered may be read late
	cmd.SysProcAttr = apart()

	// The child dies with the thread that started it, so that one must stay.
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
		return nil, &TaskError{Text: text}
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

// withWall returns a context that ends, with errWall, when a limit of time is over. The time is counted in ticks, of which a
// program that stands still misses all but one: its children have stood still with it, on a virtual machine that was paused.
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

// processorTime is what a child that has ended has used; 0: it did not start.
func processorTime(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// capped keeps the first max bytes written to it and refuses the rest. It does not
// embed its buffer, whose ReadFrom would go around Write.
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
