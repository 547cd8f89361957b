// Command generate compiles a script for pages: SCRIPT.ts becomes SCRIPT.js.
package main

import (
	"log"
	"os"

	"foyer/internal/infra/bundle"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: generate SCRIPT.ts SCRIPT.js")
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func generate(from, to string) error {
	source, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	script, err := bundle.Script(string(source))
	if err != nil {
		return err
	}
	return os.WriteFile(to, script, 0o644)
}
