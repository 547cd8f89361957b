package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

const (
	advertisementType = "application/x-git-upload-pack-advertisement"
	packType          = "application/x-git-upload-pack-result"
	someCommit        = "564445cb89de4b0c85935b1941db781a7efc82fc"
)

func packet(payload string) string { return fmt.Sprintf("%04x%s", len(payload)+4, payload) }

var (
	service  = packet("# service=git-upload-pack\n") + "0000"
	goodRefs = service + packet(someCommit+" HEAD\x00shallow side-band-64k\n") + "0000"
)

// advertise handles info/refs well.
var advertise = respond(advertisementType, goodRefs)

// respond returns a handler with one answer.
func respond(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}
}

// hostile starts a server that handles info/refs with refs and the request for the pack with pack.
func hostile(t *testing.T, refs, pack http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /app/info/refs", refs)
	mux.HandleFunc("POST /app/git-upload-pack", pack)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/app"
}

func TestHostileRefs(t *testing.T) {
	t.Parallel()
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	endless := func(ref string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", advertisementType)
			fmt.Fprint(w, service)
			for line := packet(someCommit + " " + ref + "\n"); ; {
				if _, err := fmt.Fprint(w, strings.Repeat(line, 1000)); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		refs  http.HandlerFunc
		kind  fault.Kind
		field string
		words string
	}{
		"a page":            {respond("text/html", "<p>Hello"), fault.UpstreamUnavailable, "", "no git repository"},
		"a dumb host":       {respond("text/plain", someCommit+"\trefs/heads/main\n"), fault.UpstreamUnavailable, "", "smart HTTP"},
		"500":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, fault.UpstreamUnavailable, "", "500"},
		"nothing":           {respond(advertisementType, ""), fault.UpstreamUnavailable, "", "broken"},
		"half an answer":    {respond(advertisementType, goodRefs[:60]), fault.UpstreamUnavailable, "", "broken"},
		"no list's end":     {respond(advertisementType, strings.TrimSuffix(goodRefs, "0000")), fault.UpstreamUnavailable, "", "broken"},
		"no packets":        {respond(advertisementType, "zzzz"), fault.UpstreamUnavailable, "", "broken"},
		"an error":          {respond(advertisementType, packet("ERR you\x1b[2J!\n")), fault.UpstreamUnavailable, "", `"you\x1b[2J!"`},
		"no refs":           {respond(advertisementType, service+packet("nope")), fault.UpstreamUnavailable, "", "not a ref"},
		"endless":           {endless("refs/tags/v1.0.0"), fault.Invalid, "url", "more than 50000 tags"},
		"endless requests":  {endless("refs/pull/1/head"), fault.Invalid, "url", "more than 8 MiB of refs, such as branches and pull requests"},
		"redirect inwards":  {redirect("http://10.0.0.1/app/info/refs"), fault.Invalid, "url", "private"},
		"redirect to file":  {redirect("file:///etc/passwd"), fault.Invalid, "url", "http"},
		"redirect to name":  {redirect("http://no.such.invalid/app/info/refs"), fault.UpstreamUnavailable, "", "resolve"},
		"redirect to page":  {redirect("/"), fault.UpstreamUnavailable, "", "404"},
		"redirect for ever": {redirect("/app/info/refs"), fault.UpstreamUnavailable, "", "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := hostile(t, c.refs, http.NotFound)
			_, err := install(t, url, "")
			wantFault(t, err, c.kind, c.field, c.words)
		})
	}
}

// Like git, foyer ignores parameters of the media type.
func TestMediaTypeWithParameter(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{advertisementType + "; charset=utf-8", advertisementType + ";"} {
		url := hostile(t, respond(kind, goodRefs), http.NotFound)
		if _, err := newSource(newClock()).Open(t.Context(), parse(t, url)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The request for a pack names what the host supports. If the host refuses the filter, another one has none.
func TestAsk(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 3)
	refs := service + packet(someCommit+" HEAD\x00shallow side-band-64k ofs-delta no-progress multi_ack_detailed filter more\n") + "0000"
	url := hostile(t, respond(advertisementType, refs), func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked <- string(body)
		fmt.Fprint(w, packet("ERR no"))
	})
	_, err := install(t, url, "")
	wantFault(t, err, fault.UpstreamUnavailable, "", "no")
	close(asked)
	want := "want " + someCommit + " shallow side-band-64k agent=foyer ofs-delta no-progress multi_ack_detailed"
	for _, want := range []string{
		packet(want+" filter\n") + packet("deepen 1\n") + packet("filter blob:limit=1048577\n") + "0000" + packet("done\n"),
		packet(want+"\n") + packet("deepen 1\n") + "0000" + packet("done\n"),
		"", // no more
	} {
		if got := <-asked; got != want {
			t.Errorf("asked for\n%s, want\n%s", got, want)
		}
	}
}

func TestHostilePack(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Commit(t, app())
	endless := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, packet("NAK\n"))
		full := packet("\x01" + strings.Repeat("x", 65000))
		for {
			if _, err := fmt.Fprint(w, full); err != nil {
				return
			}
		}
	}
	answer := func(body string) http.HandlerFunc { return respond(packType, body) }
	for name, c := range map[string]struct {
		pack  http.HandlerFunc
		kind  fault.Kind
		field string
		words string
	}{
		"500":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, fault.UpstreamUnavailable, "", "500"},
		"nothing":        {answer(""), fault.UpstreamUnavailable, "", "broken"},
		"half an answer": {answer(packet("NAK\n") + packet("\x01PACK")), fault.UpstreamUnavailable, "", "broken"},
		"no pack":        {answer(packet("NAK\n") + packet("\x01junk") + "0000"), fault.UpstreamUnavailable, "", "broken"},
		"half a pack":    {answer(packet("NAK\n") + packet("\x01PACK\x00\x00\x00\x02\x00\x00\x00\x09") + "0000"), fault.UpstreamUnavailable, "", "broken"},
		"an error":       {answer(packet("NAK\n") + packet("\x03out of it")), fault.UpstreamUnavailable, "", "out of it"},
		"an empty band":  {answer(packet("NAK\n") + "0004"), fault.UpstreamUnavailable, "", "broken"},
		"endless":        {endless, fault.Invalid, "url", "56 MiB of files for one version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := hostile(t, advertise, c.pack)
			_, err := install(t, url, "")
			wantFault(t, err, c.kind, c.field, c.words)
		})
	}
}

// A host that got a secret is not quoted, however it repeats the secret.
func TestSecretRepeated(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][2]string{ // responses to info/refs and git-upload-pack
		"an error":        {packet("ERR denied for joe:s3cret")},
		"a ref":           {service + packet("s3cret joe")},
		"a length":        {"s3crjoe"},
		"the pack's":      {goodRefs, packet("ERR denied for joe:s3cret")},
		"an error's band": {goodRefs, packet("NAK\n") + packet("\x03denied for joe:s3cret")},
	} {
		url := hostile(t, respond(advertisementType, answers[0]), respond(packType, answers[1]))
		for _, raw := range []string{strings.Replace(url, "://", "://joe:s3cret@", 1), strings.Replace(url, "://", "://joe@", 1), url + "?token=s3cret"} {
			_, err := install(t, raw, "")
			wantFault(t, err, fault.UpstreamUnavailable, "", "git host")
			if err != nil && (strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "joe")) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A request to a host that never responds times out; the test ends the context early.
func TestSlowUpstream(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	stall := func(_ http.ResponseWriter, r *http.Request) {
		end(context.DeadlineExceeded)
		<-r.Context().Done()
	}
	url := hostile(t, stall, http.NotFound)
	_, err := newSource(newClock()).Open(ctx, parse(t, url))
	wantFault(t, err, fault.UpstreamUnavailable, "", "in time")
}

func TestSlowPack(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	stall := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server detect that the client has closed the connection
		fmt.Fprint(w, "0008NAK\n")
		_ = http.NewResponseController(w).Flush()
		end(context.DeadlineExceeded)
		<-r.Context().Done()
	}
	url := hostile(t, advertise, stall)
	repo, err := newSource(newClock()).Open(t.Context(), parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	version, err := repo.Newest()
	if err != nil {
		t.Fatal(err)
	}
	_, err = repo.Fetch(ctx, "Acme", version)
	wantFault(t, err, fault.UpstreamUnavailable, "", "in time")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	_, err = install(t, "http://"+closed+"/app", "")
	wantFault(t, err, fault.UpstreamUnavailable, "", "reached")
	_, err = install(t, "http://no.such.invalid/app", "")
	wantFault(t, err, fault.UpstreamUnavailable, "", "resolve")
}

func TestLoopbackNeedsPermission(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	repo := host.Repo(t, "bar-app")
	source := upstream.New(egress.New(nil), nil, newClock().now)
	_, err := source.Open(t.Context(), parse(t, repo.URL))
	wantFault(t, err, fault.Invalid, "url", "loopback")
	_, err = source.Open(t.Context(), parse(t, strings.Replace(repo.URL, "127.0.0.1", "localhost", 1)))
	wantFault(t, err, fault.Invalid, "url", "loopback")
	if n := host.Requests(); n != 0 {
		t.Errorf("the host got %d requests", n)
	}
}

// Not parallel: it lists the folder for temporary files.
func TestNothingLeftOnDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Commit(t, app())
	if _, err := install(t, repo.URL, ""); err != nil {
		t.Fatal(err)
	}
	url := hostile(t, advertise, http.NotFound)
	if _, err := install(t, url, ""); err == nil {
		t.Error("installed from a hostile host")
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
