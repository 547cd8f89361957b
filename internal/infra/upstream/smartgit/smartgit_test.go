package smartgit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/fault"
)

func packet(payload string) string { return fmt.Sprintf("%04x%s", len(payload)+4, payload) }

var (
	one   = strings.Repeat("1", 40)
	two   = strings.Repeat("2", 40)
	three = strings.Repeat("3", 40)
)

func TestReadAdvertisement(t *testing.T) {
	t.Parallel()
	tags := []Ref{{"refs/tags/v1", two, three}, {"refs/tags/v2", one, one}}
	for first, want := range map[string][]Ref{
		"HEAD":            append([]Ref{{"HEAD", one, one}}, tags...),
		"refs/heads/main": tags,
	} {
		answer := packet("# service=git-upload-pack\n") + "0000" +
			packet(one+" "+first+"\x00shallow symref=HEAD:refs/heads/main\n") +
			packet(one+" refs/heads/main\n") +
			packet(two+" refs/tags/v1\n") +
			packet(three+" refs/tags/v1^{}\n") +
			packet(one+" refs/tags/v2") + "0000"
		refs, capabilities, err := readAdvertisement(&packets{r: strings.NewReader(answer)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, refs); diff != "" {
			t.Errorf("refs (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"shallow", "symref=HEAD:refs/heads/main"}, capabilities); diff != "" {
			t.Errorf("capabilities (-want +got):\n%s", diff)
		}
	}
}

func FuzzReadAdvertisement(f *testing.F) {
	f.Add([]byte(packet("# service=git-upload-pack\n") + "0000" + packet(one+" refs/tags/a\x00b\n") + packet(two+" refs/tags/a^{}") + "0000"))
	f.Add([]byte(packet("ERR no")))
	f.Fuzz(func(t *testing.T, answer []byte) {
		refs, _, err := readAdvertisement(&packets{r: bytes.NewReader(answer)})
		if err != nil && !fault.Is(err, fault.UpstreamUnavailable) && !fault.Is(err, fault.Invalid) {
			t.Errorf("error %v", err)
		}
		for _, r := range refs {
			if !isOID(r.Object) || !isOID(r.Commit) {
				t.Errorf("ref %+v", r)
			}
		}
	})
}

func FuzzReadPack(f *testing.F) {
	f.Add([]byte(packet("shallow "+one) + "0000" + packet("NAK\n") + packet("\x02hm") + packet("\x01PACK") + "0000"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var pack bytes.Buffer
		if err := readPack(&packets{r: bytes.NewReader(answer)}, &pack); err != nil && !fault.Is(err, fault.UpstreamUnavailable) {
			t.Errorf("error %v", err)
		}
		if pack.Len() > len(answer) {
			t.Errorf("%d bytes became a pack of %d", len(answer), pack.Len())
		}
	})
}
