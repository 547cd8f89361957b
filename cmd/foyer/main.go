// Foyer is the front door of an organization: its frontend apps, its sites and its people.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"foyer/internal/face/cli"
	"foyer/internal/infra/sandbox"
	"foyer/internal/server"
)

func main() {
	if code, isChild := sandbox.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, server.Tasks()); isChild {
		os.Exit(code)
	}
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		stops = append(stops, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), stops...)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends foyer at once
	os.Exit(cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
