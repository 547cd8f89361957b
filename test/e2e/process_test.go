package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// patience is how long a test waits for an expected result, on a busy machine.
const patience = 2 * time.Minute

// process is a server of the built program.
type process struct {
	cmd     *exec.Cmd
	address chan string   // gets its address once it listens
	ended   chan struct{} // closed when the process has ended
	err     error         // how it ended

	mu       sync.Mutex
	log      bytes.Buffer
	listened bool // its address was sent
}

// startProcess starts a server. Its log also goes to log.
func startProcess(env []string, dir string, stdout, log io.Writer, flags ...string) (*process, error) {
	p := &process{
		cmd:     exec.Command(filepath.Join(binary, "foyer"), append([]string{"serve"}, flags...)...),
		address: make(chan string, 1), ended: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = env, dir, stdout, io.MultiWriter(p, log)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

var listening = regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`)

// Write keeps the log and finds the address in it.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.Write(text)
	if !p.listened {
		if m := listening.FindSubmatch(p.log.Bytes()); m != nil {
			p.listened = true
			p.address <- string(m[1])
		}
	}
	return len(text), nil
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// awaitURL returns the address of the server once it listens.
func (p *process) awaitURL() (string, error) {
	select {
	case address := <-p.address:
		return "http://" + address, nil
	case <-p.ended:
		return "", fmt.Errorf("the server has ended: %w\n%s", p.err, p.said())
	case <-time.After(patience):
		return "", fmt.Errorf("the server does not listen:\n%s", p.said())
	}
}

// kill ends the program as a power failure would.
func (p *process) kill() {
	p.cmd.Process.Kill() // no effect once it has ended
	<-p.ended
}

// stop ends the program as a service manager would.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.awaitEnd()
}

// awaitEnd waits for the program to exit, with 0.
func (p *process) awaitEnd() error {
	select {
	case <-p.ended:
		if p.err != nil {
			return fmt.Errorf("%w\n%s", p.err, p.said())
		}
		return nil
	case <-time.After(patience):
		return errors.New("the server does not end")
	}
}
