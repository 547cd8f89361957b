// Package e2e runs scripts against the built program, on both engines.
//
// A script is testdata/NAME.txtar: it has commands of testscript, those of commands_test.go, and foyer itself. -update
// rewrites the files that `cmp` compares with.
package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "foyer/internal/cli" // the tests build it: a change invalidates cached results
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

var update = flag.Bool("update", false, "rewrite what scripts compare with")

// binary is the folder of the built program.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	if binary, err = os.MkdirTemp("", "foyer-e2e-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(binary)) }()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-X foyer/internal/cli.version=v0.0.0-test", "-o", binary, "foyer/cmd/foyer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{
				Dir:           "testdata",
				Cmds:          commands,
				UpdateScripts: *update,
				Setup:         func(e *testscript.Env) error { return setUp(e, engine) },
				Condition: func(name string) (bool, error) {
					if name != "sqlite" && name != "postgres" {
						return false, fmt.Errorf("no engine is named %s", name)
					}
					return name == engine, nil
				},
			})
		})
	}
}

// setUp gives a script the settings of a server on its own database, and a well-formed key to use.
func setUp(e *testscript.Env, engine string) error {
	e.Setenv("PATH", binary+string(filepath.ListSeparator)+e.Getenv("PATH"))
	e.Setenv("FOYER_DATA_DIR", filepath.Join(e.WorkDir, "data"))
	e.Setenv("FOYER_LISTEN", "127.0.0.1:0")
	e.Setenv("NEWKEY", access.NewKey())
	if engine == "postgres" {
		e.Setenv("FOYER_DATABASE", dbtest.Empty(e.T().(testing.TB)))
		e.Setenv("FOYER_SECRET", "0123456789abcdef0123456789abcdef")
	}
	e.Values[runningKey{}] = running{}
	return nil
}

// check ends the test with an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
