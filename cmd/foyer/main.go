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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends foyer at once
	os.Exit(cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
