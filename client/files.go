package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Files are the contents of files by name: text, or the bytes of a picture or font.
type Files map[string]string

// FileEdits are the new contents of files by name; nil deletes a file.
type FileEdits map[string]*string

// binary is the JSON form of bytes that are not text.
type binary struct {
	Base64 []byte `json:"base64"`
}

// UnmarshalJSON reads texts as they are, and bytes from {"base64": "…"}.
func (f *Files) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*f = make(Files, len(raw))
	for name, content := range raw {
		var text string
		if strings.HasPrefix(string(content), "{") {
			var bytes binary
			if err := json.Unmarshal(content, &bytes); err != nil {
				return err
			}
			text = string(bytes.Base64)
		} else if err := json.Unmarshal(content, &text); err != nil {
			return err
		}
		(*f)[name] = text
	}
	return nil
}

// MarshalJSON writes texts as they are, and other bytes as {"base64": "…"}. Names must be UTF-8.
func (f Files) MarshalJSON() ([]byte, error) {
	contents := make(map[string]any, len(f))
	for name, content := range f {
		contents[name] = plain(content)
	}
	return encodeFiles(contents)
}

// MarshalJSON writes texts as they are, and other bytes as {"base64": "…"}. Names must be UTF-8.
func (e FileEdits) MarshalJSON() ([]byte, error) {
	contents := make(map[string]any, len(e))
	for name, content := range e {
		contents[name] = nil
		if content != nil {
			contents[name] = plain(*content)
		}
	}
	return encodeFiles(contents)
}

// encodeFiles refuses a name that JSON would change, perhaps into the name of another file.
func encodeFiles(contents map[string]any) ([]byte, error) {
	for name := range contents {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of a file is not UTF-8: %q", name)
		}
	}
	return encode(contents)
}

// plain returns the JSON form of a file's content.
func plain(content string) any {
	if utf8.ValidString(content) && !strings.Contains(content, "\x00") {
		return content
	}
	return binary{[]byte(content)}
}
