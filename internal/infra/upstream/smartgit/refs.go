package smartgit

import (
	"errors"
	"slices"
	"strings"

	"foyer/internal/base/fault"
)

// maxTags limits how many tags of one repository are kept, besides HEAD.
const maxTags = 50_000

// Ref is HEAD or a tag.
type Ref struct {
	Name   string // "HEAD" or "refs/tags/..."
	Object string // the object it points to: 40 hex digits
	Commit string // the same; for an annotated tag, the tagged commit
}

// readAdvertisement reads a host's response to info/refs: lines of the form "OID NAME". The first line also has the
// capabilities, after a NUL.
func readAdvertisement(p *packets) (refs []Ref, capabilities []string, err error) {
	service, _, err := p.line()
	if err != nil {
		return nil, nil, err
	}
	if service != "# service=git-upload-pack" {
		return nil, nil, broken(errStray)
	}
	if _, _, err := p.next(); err != nil { // skips a flush
		return nil, nil, err
	}
	for first := true; ; first = false {
		line, more, err := p.line()
		if err != nil {
			return nil, nil, err
		}
		if !more {
			return refs, capabilities, nil
		}
		if first {
			var list string
			line, list, _ = strings.Cut(line, "\x00")
			capabilities = strings.Fields(list)
			if slices.Contains(capabilities, "object-format=sha256") {
				return nil, nil, fault.Field(fault.Invalid, "url", "The repository is in the SHA-256 format; foyer takes SHA-1 repositories only.")
			}
		}
		if refs, err = addRef(refs, line); err != nil {
			return nil, nil, err
		}
	}
}

// addRef adds the ref of a line to refs. For an annotated tag, another line follows with the commit: "NAME^{}".
// A host whose own copy is shallow lists, after the refs, the commits whose parents it does not have: "shallow OID".
func addRef(refs []Ref, line string) ([]Ref, error) {
	oid, name, _ := strings.Cut(line, " ")
	if oid == "shallow" {
		return refs, nil
	}
	if !isOID(oid) {
		return nil, broken(errors.New("it lists something that is not a ref"))
	}
	if tag, peeled := strings.CutSuffix(name, "^{}"); peeled {
		if last := len(refs) - 1; last >= 0 && refs[last].Name == tag {
			refs[last].Commit = oid
		}
		return refs, nil
	}
	if name != "HEAD" && !strings.HasPrefix(name, "refs/tags/") {
		return refs, nil
	}
	if len(refs) > maxTags {
		return nil, fault.Field(fault.Invalid, "url", "The repository has more than %d tags.", maxTags)
	}
	return append(refs, Ref{Name: name, Object: oid, Commit: oid}), nil
}

// isOID reports whether s is the SHA-1 name of an object.
func isOID(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }
