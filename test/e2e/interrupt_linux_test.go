package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A shell stops a loop of commands if one of them was killed by the signal, but not if it only failed.
func TestInterruptedCommandsDieOfTheSignal(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		var said strings.Builder
		cmd := command(t, server.URL, "foy_x", "app", "delete", "1", "--yes")
		cmd.Stderr = &said
		check(t, cmd.Start())
		<-asked
		diesOf(t, cmd, by)
		if said.String() != "foyer: interrupted\n" {
			t.Errorf("%v: %q", by, said.String())
		}
	}
}

// One signal ends a command that waits for an answer, and the terminal shows typed text again.
func TestQuestionsAreInterrupted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command, prompt string
		hides           bool
	}{{"login http://127.0.0.1:1", "Key: ", true}, {"app delete 1", "[y/N] ", false}} {
		_, terminal := openTerminal(t)
		cmd := command(t, "http://127.0.0.1:1", "foy_x", strings.Fields(test.command)...)
		cmd.Stdin = terminal
		questions, err := cmd.StderrPipe()
		check(t, err)
		check(t, cmd.Start())
		for asked := ""; !strings.HasSuffix(asked, test.prompt); {
			letter := make([]byte, 1)
			if _, err := io.ReadFull(questions, letter); err != nil {
				t.Fatalf("%s: %q, %v", test.command, asked, err)
			}
			asked += string(letter)
		}
		for deadline := time.Now().Add(patience); echoes(t, terminal) == test.hides; pause() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: what is typed is not hidden", test.command)
			}
		}
		diesOf(t, cmd, syscall.SIGINT)
		if !echoes(t, terminal) {
			t.Errorf("%s: what is typed stays hidden", test.command)
		}
	}
}

// diesOf sends a program a signal, which must kill it.
func diesOf(t *testing.T, cmd *exec.Cmd, by syscall.Signal) {
	t.Helper()
	check(t, cmd.Process.Signal(by))
	stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	err := cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != by {
		t.Errorf("%v: %v", by, err)
	}
}

// A terminal that cannot show bold letters gets none.
func TestDumbTerminals(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	for name, bold := range map[string]bool{"xterm": true, "dumb": false} {
		keyboard, terminal := openTerminal(t)
		cmd := command(t, i.url, s["BOOTSTRAP_KEY"], "key", "list")
		cmd.Env = append(cmd.Env, "TERM="+name)
		cmd.Stdout = terminal
		check(t, cmd.Run())
		shown := make([]byte, 4096)
		n, err := keyboard.Read(shown)
		if err != nil || !strings.Contains(string(shown[:n]), "NAME") || strings.Contains(string(shown[:n]), "\x1b") != bold {
			t.Errorf("%s: %q, %v", name, shown[:n], err)
		}
	}
}

// openTerminal returns both sides of a new terminal; the second is the program's.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { master.Close() })
	var number, locked int32
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// echoes reports whether a terminal shows typed text.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	var settings syscall.Termios
	ioctl(t, terminal, syscall.TCGETS, unsafe.Pointer(&settings))
	return settings.Lflag&syscall.ECHO != 0
}

func ioctl(t *testing.T, terminal *os.File, request uintptr, answer unsafe.Pointer) {
	t.Helper()
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), request, uintptr(answer)); failed != 0 {
		t.Fatal(failed)
	}
}
