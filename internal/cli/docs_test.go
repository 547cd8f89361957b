package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"foyer/internal/cli"
)

var (
	codeSpan = regexp.MustCompile("(?s)```.*?\n *```|`[^`]+`")
	written  = regexp.MustCompile(`(?m)(?:^|["(` + "`" + `]|bin/| /) *foyer((?: [a-z][a-z-]*)+)([^#|;&` + "`" + `\n]*)`)
	listed   = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*(?: [a-z][a-z-]*)*)`)
	usage    = regexp.MustCompile(`Usage: foyer((?: [a-z][a-z-]*)*)( <command>)?`)
	flag     = regexp.MustCompile(` --([a-z][a-z-]*)`)
)

// The commands in the documents exist, with their flags.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, "../../README.md", "../../deploy/foyer.env.example") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range codeSpan.FindAllString(string(text), -1) {
			if !strings.HasPrefix(code, "```") {
				code = strings.ReplaceAll(code, "\n", " ")
			}
			for _, command := range written.FindAllStringSubmatch(strings.ReplaceAll(code, "\\\n", ""), -1) {
				seen++
				checkCommand(t, file, strings.Fields(command[1]), command[2])
			}
		}
	}
	if seen < 80 {
		t.Errorf("only %d commands are written", seen)
	}
}

// The commands in the help texts exist, too.
func TestHelpsNameCommands(t *testing.T) {
	t.Parallel()
	seen := 0
	var check func(words ...string)
	check = func(words ...string) {
		var help bytes.Buffer
		if code := cli.Run(t.Context(), append([]string{"help"}, words...), nil, nil, &help, &help); code != cli.OK {
			t.Fatalf("help %v: %s", words, &help)
		}
		about, below, _ := strings.Cut(help.String(), "\nCommands:\n")
		for _, command := range written.FindAllStringSubmatch(about, -1) {
			seen++
			checkCommand(t, "help "+strings.Join(words, " "), strings.Fields(command[1]), command[2])
		}
		for _, command := range listed.FindAllStringSubmatch(below, -1) {
			check(strings.Fields(command[1])...)
		}
	}
	check()
	if seen < 60 {
		t.Errorf("only %d commands are written", seen)
	}
}

var (
	operation = regexp.MustCompile(`(?s)operationId: (\w+)\n.*?x-samples:\n(.*?)\n      \w`)
	method    = regexp.MustCompile(`(?:org|c)\.(\w+)\(ctx`)
)

// Each operation that a command calls has a sample of the command in the reference.
func TestCommandsAreSamples(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../face/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, text...)
	}
	seen := 0
	for _, op := range operation.FindAllSubmatch(document, -1) {
		call := method.FindSubmatch(op[2])
		if call == nil {
			continue
		}
		seen++
		all := "All" + strings.TrimPrefix(string(call[1]), "List")
		if (bytes.Contains(code, []byte("."+string(call[1])+"(")) || bytes.Contains(code, []byte("."+all+"("))) && !bytes.Contains(op[2], []byte("foyer: ")) {
			t.Errorf("%s has no sample of the command line", op[1])
		}
	}
	if seen < 80 {
		t.Errorf("only %d operations are in the document", seen)
	}
}

// The help of a command that also works on the database names that command there.
func TestHelpsNameTheDatabase(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"app", "site", "invite", "organization", "member", "key", "activity"} {
		var help bytes.Buffer
		if code := cli.Run(t.Context(), []string{"help", "admin", group}, nil, nil, &help, &help); code != cli.OK {
			t.Fatalf("help admin %s: %s", group, &help)
		}
		about, _, _ := strings.Cut(strings.ReplaceAll(help.String(), "Usage: foyer admin", ""), "\nCommands:\n")
		if !strings.Contains(about, "foyer admin "+group) {
			t.Errorf("help admin %s: %s", group, about)
		}
	}
}

// checkCommand looks up a command by its words. The last ones may be arguments.
func checkCommand(t *testing.T, file string, words []string, rest string) {
	t.Helper()
	if words[0] == "help" {
		if words = words[1:]; len(words) == 0 {
			return
		}
	}
	var help bytes.Buffer
	for n := len(words); n >= 0; n-- {
		help.Reset()
		if cli.Run(context.Background(), append([]string{"help"}, words[:n]...), nil, nil, &help, &help) == cli.OK {
			break
		}
	}
	shown := usage.FindStringSubmatch(help.String())
	command := strings.Join(words, " ")
	if shown == nil || !strings.HasPrefix(" "+command+" ", shown[1]+" ") || shown[2] != "" && " "+command != shown[1] { // also under an old name
		t.Errorf("%s: there is no command foyer %s", file, command)
		return
	}
	for _, f := range flag.FindAllStringSubmatch(rest, -1) {
		if !strings.Contains(help.String(), "--"+f[1]) {
			t.Errorf("%s: foyer%s has no flag --%s", file, shown[1], f[1])
		}
	}
}
