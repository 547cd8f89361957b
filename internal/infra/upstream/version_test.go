package upstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/internal/infra/upstream/smartgit"
)

func TestNewest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tags []string
		want string
	}{
		{[]string{"v1.9.0", "v1.10.0", "v1.2.0"}, "v1.10.0"},
		{[]string{"1.9.0", "v1.8.0", "1.10.0"}, "1.10.0"},
		{[]string{"v2.0.0-rc.1", "v1.0.0"}, "v1.0.0"},
		{[]string{"v2.0.0-rc.1", "v2.0.0-rc.2", "v2.0.0-beta", "latest"}, "v2.0.0-rc.2"},
		{[]string{"v1.0.0+b", "v1.0.0+a"}, "v1.0.0+b"},
		{[]string{"1.0.0", "v1.0.0"}, "v1.0.0"},
		{[]string{"v1", "v1.2", "01.2.3", "1.2.3.4", "vv1.0.0", "release-9.0.0", ""}, "HEAD's commit"},
		{nil, "HEAD's commit"},
	} {
		refs := []smartgit.Ref{{Name: "HEAD", Commit: "HEAD's commit"}}
		for _, tag := range c.tags {
			refs = append(refs, smartgit.Ref{Name: "refs/tags/" + tag})
		}
		got, err := readVersions(refs).Newest()
		if err != nil || got.Tag != c.want {
			t.Errorf("newest of %q: %q, %v; want %q", c.tags, got.Tag, err, c.want)
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag, than string
		want      bool
	}{
		{"v1.9.0", "v1.10.0", true},
		{"v1.10.0", "v1.9.0", false},
		{"1.0.0", "v2.0.0-beta.1", true},
		{"v2.0.0", "v2.0.0-beta.1", false},
		{"1.0.0", "v1.0.0", false},
		{"v1.0.0", "main", false},
		{"main", "v1.0.0", false},
	} {
		if got := Older(c.tag, c.than); got != c.want {
			t.Errorf("%s is older than %s: %t", c.tag, c.than, got)
		}
	}
}

// The highest of many versions are found without sorting all, which took seconds for as many as a git host may send.
func TestTags(t *testing.T) { // not parallel: it counts the allocations of the whole process
	const many = 10_000
	refs := []smartgit.Ref{{Name: "refs/tags/latest"}}
	for i := range many {
		refs = append(refs, smartgit.Ref{Name: fmt.Sprintf("refs/tags/v1.0.%d", i)})
	}
	v := readVersions(refs)
	var got []string
	allocations := testing.AllocsPerRun(1, func() { got = v.Tags(3) })
	if want := []string{"v1.0.9999", "v1.0.9998", "v1.0.9997"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if allocations > 10*many {
		t.Errorf("%.0f allocations for %d tags", allocations, many)
	}
	if got := readVersions(refs[:3]).Tags(3); !slices.Equal(got, []string{"v1.0.1", "v1.0.0"}) {
		t.Errorf("of two: %q", got)
	}
}

// A tag may be as long as its field, in characters.
func TestLongestTag(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("ü", MaxTag)
	v := readVersions([]smartgit.Ref{{Name: "refs/tags/" + longest}, {Name: "refs/tags/" + longest + "x"}})
	if got, err := v.Resolve(longest); err != nil || got.Tag != longest {
		t.Errorf("%d characters: %v", MaxTag, err)
	}
	if _, err := v.Resolve(longest + "x"); err == nil {
		t.Errorf("more than %d characters are a tag", MaxTag)
	}
}

// The error for a missing tag names one that exists.
func TestMissingTagNamesTheNewest(t *testing.T) {
	t.Parallel()
	head := smartgit.Ref{Name: "HEAD", Commit: "c0ffee"}
	for want, refs := range map[string][]smartgit.Ref{
		`tag: The repository has no tag "v2": the newest is "v1.1.0".`: {{Name: "refs/tags/v1.0.0"}, {Name: "refs/tags/v1.1.0"}, head},
		`tag: The repository has no tag "v2": the newest is "c0ffee".`: {head},
		`tag: The repository has no tag "v2".`:                         {{Name: "refs/tags/beta"}},
	} {
		if _, err := readVersions(refs).Resolve("v2"); err == nil || err.Error() != want {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}
