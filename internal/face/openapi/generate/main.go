// Command generate writes the other forms of an OpenAPI document beside it: it turns NAME.yaml into NAME.json.gz,
// NAME.html.gz and NAME.names.json, and compresses NAME.yaml itself. The long ones are compressed because the program
// embeds them.
package main

import (
	"errors"
	"log"
	"os"
	"strings"

	"foyer/internal/base/compress"
	"foyer/internal/face/openapi"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate NAME.yaml")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func generate(path string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	json, jsonErr := openapi.JSON(document)
	page, pageErr := openapi.Page(document)
	names, namesErr := openapi.Names(document)
	if err := errors.Join(jsonErr, pageErr, namesErr); err != nil {
		return err
	}
	name := strings.TrimSuffix(path, ".yaml")
	return errors.Join(
		write(name+".yaml.gz", compress.Gzip(document)), write(name+".json.gz", compress.Gzip(json)), write(name+".html.gz", compress.Gzip(page)),
		write(name+".names.json", names),
	)
}

func write(path string, content []byte) error {
	return os.WriteFile(path, content, 0o644)
}
