//go:build unix

package dbtest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holdCluster names the variable that makes the test binary the process to be killed.
const holdCluster = "DBTEST_HOLD_CLUSTER"

// TestMain lets the binary be the process that holds a cluster until it dies.
func TestMain(m *testing.M) {
	if os.Getenv(holdCluster) == "" {
		os.Exit(m.Run())
	}
	c, err := startCluster(memory(), initdb, forgetful)
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(c.dir + "\n")
	select {}
}

func TestPostgresGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			d, err := sql.Open("pgx", Postgres(t))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.ExecContext(t.Context(), "CREATE TABLE mine (id BIGINT)"); err != nil {
				t.Errorf("a table that only another test can have made: %v", err)
			}
		})
	}
}

func TestClusterEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := killHolder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("%s is still there", dir)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// killHolder starts a process that holds a cluster, kills its whole process group, and returns the cluster's folder.
func killHolder(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdCluster+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its error says that the process was killed, as intended
	return strings.TrimSpace(line)
}
