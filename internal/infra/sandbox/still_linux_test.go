package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// No time passes for a child while the server and the child stand still, as on a paused virtual machine.
func TestNoTimePassesWhileTheServerStandsStill(t *testing.T) {
	t.Parallel()
	const limit, server = 3 * time.Second, "STANDS_STILL"
	if os.Getenv(server) != "" {
		ctx, cancel := withWall(t.Context(), limit)
		defer cancel()
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		goesOn := time.Now()
		<-ctx.Done()
		if passed := time.Since(goesOn); passed < limit/2 {
			t.Errorf("its time is over after %v", passed)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), server+"=yes")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, %v", status, err)
	}
	<-time.After(limit)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
