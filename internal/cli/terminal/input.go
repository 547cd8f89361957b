package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"foyer/internal/base/fault"
)

// MisuseError is an error in the command line.
type MisuseError struct{ error }

// Misused returns err as a MisuseError.
func Misused(err error) error { return MisuseError{err} }

// Unwrap returns the error itself.
func (m MisuseError) Unwrap() error { return m.error }

// TheOne returns the only id of ids; what describes the items. Without ids, it returns the error none.
func TheOne[T any](ids []T, what string, none error) (id T, err error) {
	var texts []string
	for _, id := range ids {
		texts = append(texts, fmt.Sprint(id))
	}
	switch len(ids) {
	case 0:
		return id, none
	case 1:
		return ids[0], nil
	}
	return id, fault.New(fault.Invalid, "There are %d %s: give the id of one, %s.", len(ids), what, strings.Join(texts, " or "))
}

// Log receives warnings and the server's log.
type Log struct{ io.Writer }

// Input is the source of texts that must not be on the command line.
type Input struct {
	io.Reader
	Questions io.Writer       // where questions are written
	Done      <-chan struct{} // closed when the command is interrupted
	Yes       bool            // all questions are confirmed
}

// Or returns the value of a flag, or, if it is "-", a line of the input.
func (in Input) Or(value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	return in.line()
}

func (in Input) line() (string, error) {
	return await(in, func() (string, error) {
		lines := bufio.NewScanner(in)
		lines.Scan()
		return lines.Text(), lines.Err()
	})
}

// All reads the whole input.
func (in Input) All() ([]byte, error) {
	return await(in, func() ([]byte, error) { return io.ReadAll(in) })
}

// await returns the result of read, or an error once Done is closed: a read cannot be cancelled.
func await[T any](in Input, read func() (T, error)) (T, error) {
	var got T
	var err error
	done := make(chan struct{})
	go func() {
		got, err = read()
		close(done)
	}()
	select {
	case <-done:
		return got, err
	case <-in.Done:
		var none T
		return none, errors.New("interrupted")
	}
}

// terminal returns the terminal that a person types into; nil: there is none.
func (in Input) terminal() *os.File {
	if file, ok := in.Reader.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// Confirm asks before an action that cannot be undone.
func (in Input) Confirm(format string, args ...any) error {
	if in.Yes {
		return nil
	}
	answer, err := in.ask(fmt.Sprintf(format, args...), " [y/N] ")
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// ConfirmName asks for the name of what is about to be deleted for good.
func (in Input) ConfirmName(name, what string) error {
	if in.Yes {
		return nil
	}
	typed, err := in.ask(what, "\nThis cannot be undone. Type "+Printable(name)+" to go on: ")
	if err != nil {
		return err
	}
	if typed != strings.TrimSpace(name) {
		return errors.New("nothing was done: type the name as it is shown, or give --yes")
	}
	return nil
}

// ask returns the answer to a question. Without a terminal, only --yes can answer.
func (in Input) ask(question, prompt string) (string, error) {
	if in.terminal() == nil {
		return "", Misused(fmt.Errorf("%s There is no terminal to ask on: give --yes", question))
	}
	fmt.Fprint(in.Questions, question, prompt)
	answer, err := in.line()
	return strings.TrimSpace(answer), err
}

// Secret asks for a text that is not shown while it is typed. Without a terminal, it reads a line of the input.
func (in Input) Secret(question string) (string, error) {
	file := in.terminal()
	if file == nil {
		return in.line()
	}
	before, err := term.GetState(int(file.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(in.Questions, question)
	typed, err := await(in, func() ([]byte, error) { return term.ReadPassword(int(file.Fd())) })
	fmt.Fprintln(in.Questions)
	return strings.TrimSpace(string(typed)), errors.Join(err, term.Restore(int(file.Fd()), before))
}
