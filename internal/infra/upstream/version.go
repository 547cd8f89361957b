package upstream

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/semver"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/smartgit"
)

// MaxTag is the length of an app's tag field, in characters.
const MaxTag = 200

// Version is a version of an app that its upstream offers.
type Version struct {
	Tag    string // the commit if the repository has no version tags
	Commit string
	object string // the object to ask the host for: the tag's own object, if it has one
}

// versions holds the versions of a repository.
type versions struct {
	tags map[string]Version
	head Version // of the default branch; zero if there is none
}

func readVersions(refs []smartgit.Ref) versions {
	v := versions{tags: map[string]Version{}}
	for _, ref := range refs {
		tag, ok := strings.CutPrefix(ref.Name, "refs/tags/")
		switch {
		case ref.Name == "HEAD":
			v.head = Version{Tag: ref.Commit, Commit: ref.Commit, object: ref.Object}
		case ok && utf8.RuneCountInString(tag) <= MaxTag:
			v.tags[tag] = Version{Tag: tag, Commit: ref.Commit, object: ref.Object}
		}
	}
	return v
}

// Newest returns the highest version tag (semver; a pre-release only if there is nothing else), or the head of the
// default branch, with its commit as the tag.
func (v versions) Newest() (Version, error) {
	if best := v.Tags(1); len(best) > 0 {
		return v.tags[best[0]], nil
	}
	if v.head.Tag != "" {
		return v.head, nil
	}
	return Version{}, fault.Field(fault.Invalid, "url",
		"The repository has neither a version tag nor a commit on its default branch.")
}

// Tags returns the tags of the highest versions, the newest first, at most most of them.
func (v versions) Tags(most int) []string {
	var best []string
	for tag := range v.tags {
		if semantic(tag) == "" {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, tag, func(other, tag string) int { return compareTags(tag, other) })
		best = slices.Insert(best, at, tag)
		best = best[:min(len(best), most)]
	}
	return best
}

// Resolve returns the version with the tag, or Newest for "". The commit of the default branch's head is also a tag,
// because Newest may have returned it as one. If the tag does not exist, the error is an Invalid fault on "tag".
func (v versions) Resolve(tag string) (Version, error) {
	if tag == "" {
		return v.Newest()
	}
	if version, ok := v.tags[tag]; ok {
		return version, nil
	}
	if tag == v.head.Tag {
		return v.head, nil
	}
	newest, err := v.Newest()
	if err != nil {
		return Version{}, fault.Field(fault.Invalid, "tag", "The repository has no tag %q.", tag)
	}
	return Version{}, fault.Field(fault.Invalid, "tag", "The repository has no tag %q: the newest is %q.", tag, newest.Tag)
}

// semantic returns a tag in the form of package semver, or "" if it is not a complete semantic version, with or without
// "v".
func semantic(tag string) string {
	version := "v" + strings.TrimPrefix(tag, "v")
	if semver.Canonical(version)+semver.Build(version) != version {
		return "" // semver reads v1 and v1.2 as v1.0.0 and v1.2.0
	}
	return version
}

// compareTags orders the tags of versions: releases after pre-releases, then by precedence, then (for v1.0.0 and 1.0.0) by
// text, so that the order of refs does not matter.
func compareTags(a, b string) int {
	x, y := semantic(a), semantic(b)
	return cmp.Or(cmp.Compare(rank(x), rank(y)), semver.Compare(x, y), cmp.Compare(a, b))
}

// Older reports whether a tag is a lower version than another; false if either is not a version.
func Older(tag, than string) bool {
	version := semantic(tag)
	return version != "" && semver.Compare(version, semantic(than)) < 0 // for semver, "" is the lowest
}

func rank(version string) int {
	if semver.Prerelease(version) != "" {
		return 0
	}
	return 1
}
