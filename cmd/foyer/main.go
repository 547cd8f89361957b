// Foyer is the front door of an organization: its frontend apps, its sites and its people.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"foyer/internal/cli"
	"foyer/internal/infra/sandbox"
	"foyer/internal/server"
)

func main() {
	if code, isChild := sandbox.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, server.Tasks()); isChild {
		os.Exit(code)
	}
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		stops = append(stops, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stops...)
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 1)
	go func() {
		received <- <-signals
		signal.Reset(os.Interrupt, syscall.SIGTERM) // a second signal ends foyer at once; but SIGHUP may come twice, from the shell and the kernel
		cancel()
	}()
	code := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	if code == cli.Interrupted {
		die(<-received)
	}
	os.Exit(code)
}

// die ends foyer with a signal, not with an exit code: a shell checks for that before it continues a loop.
func die(by os.Signal) {
	signal.Reset(by)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(by) == nil {
		time.Sleep(time.Second) // until the signal arrives
	}
}
