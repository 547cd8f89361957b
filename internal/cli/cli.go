// Package cli is the command-line face of foyer.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"foyer/internal/config"
	"foyer/internal/server"
)

// version is set by the linker.
var version = "unknown"

// Exit codes.
const (
	OK      = 0
	Refused = 1 // the command was understood, but could not be carried out
	Misused = 2 // it was not
)

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	cfg, err := config.Load(getenv, nil)
	if err == nil {
		err = cfg.CheckServer()
	}
	if err != nil {
		fmt.Fprintln(stderr, "foyer:", err)
		return Misused
	}
	if len(args) == 1 && args[0] == "version" {
		fmt.Fprintln(stdout, version)
		return OK
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	if err := (server.Server{Config: cfg, Log: log, Stdout: stdout}).Run(ctx); err != nil {
		fmt.Fprintln(stderr, "foyer:", err)
		return Refused
	}
	return OK
}
