package e2e

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/infra/upstream/upstreamtest"
)

// The commands on the pages for newcomers work as written.
func TestDocs(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	repo := host.Repo(t, "banner")
	for _, tag := range []string{"v1.0.0", "v1.1.0"} {
		repo.Tag(t, tag, repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "site.ts": "// " + tag}))
	}
	for _, page := range []struct {
		file, heading string
		want          []string // in what the commands print
		refused       int      // how many of their requests
	}{
		{"README.md", "## Try it", []string{`"bundle":{"url":"http://127.0.0.1:`, "ada@example.com", "/invite/"}, 0},
		{"docs/api.md", "## Common jobs", []string{
			`"line":0,"column":0,"warning":"","size":31,"sha256":"cc7e`, `"integrity":"sha384-O13J`, `"size":33,"inject":false}`, // as the page shows it
			`"attr":"2.target_email"`, `"latest_tag":"v1.1.0"`, "-// v1.0.0", "/invite/", `"key":"foy_`,
		}, 2},
	} {
		t.Run(page.file, func(t *testing.T) {
			t.Parallel()
			key, dir := access.NewKey(), t.TempDir()
			check(t, os.Symlink(binary, filepath.Join(dir, "bin")))
			p, err := startProcess([]string{"FOYER_LISTEN=127.0.0.1:0", "FOYER_BOOTSTRAP_KEY=" + key, "FOYER_UPSTREAM_ALLOW=127.0.0.0/8"}, dir, nil, io.Discard)
			check(t, err)
			t.Cleanup(p.kill)
			url, err := p.awaitURL()
			check(t, err)
			script := strings.NewReplacer(
				"make run\n", "",
				"foy_…", key,
				"http://127.0.0.1:8000", url,
				"https://git.example.com/team/banner.git", repo.URL,
				"invite link ID", "invite link $(bin/foyer --json admin invite list | jq -r .[0].id)",
			).Replace(commandsIn(t, page.file, page.heading))
			sh := exec.Command("sh", "-eu", "-c", script)
			sh.Dir = dir
			shown, err := sh.Output()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, script, shown)
			}
			for _, want := range page.want {
				if !strings.Contains(string(shown), want) {
					t.Errorf("no %s in\n%s", want, shown)
				}
			}
			if n := strings.Count(string(shown), `"errors":[`); n != page.refused {
				t.Errorf("%d requests are refused, want %d:\n%s", n, page.refused, shown)
			}
		})
	}
}

// The first app of the guide for authors compiles, and is placed with values.
func TestGuideForAuthors(t *testing.T) {
	t.Parallel()
	text := readText(t, filepath.Join("..", "..", "docs", "guide-app-authors.md"))
	first := func(language string) string {
		_, block, _ := strings.Cut(text, "```"+language+"\n")
		block, _, _ = strings.Cut(block, "```")
		return block
	}
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
	check(t, err)
	o := c.Organization(client.Current)
	app, err := o.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Source: client.Files{
		"plugin.json": first("json"), "site.ts": first("ts"), "banner.css": first("css"),
	}})
	check(t, err)
	source, err := o.GetSource(t.Context(), app.ID)
	if err != nil || source.Bundle == nil || !source.Bundle.Inject {
		t.Fatalf("%+v, %v", source, err)
	}
	for _, file := range source.SourceFiles {
		if file.Error != "" || file.Warning != "" {
			t.Errorf("%s: %s%s", file.Filename, file.Error, file.Warning)
		}
	}
	site, err := o.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")})
	check(t, err)
	values := map[string]json.RawMessage{"text": json.RawMessage(`"Good morning"`), "color": json.RawMessage(`"teal"`)}
	placed, err := o.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{Config: values}})
	if err != nil || placed.Running == nil {
		t.Errorf("%+v, %v", placed, err)
	}
}

// commandsIn returns the commands of a section of a page, as a script.
func commandsIn(t *testing.T, file, heading string) string {
	t.Helper()
	_, section, _ := strings.Cut(readText(t, filepath.Join("..", "..", file)), heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, section, _ = strings.Cut(section, "```sh\n")
	var script strings.Builder
	for block := range strings.SplitSeq(section, "```sh\n") {
		commands, _, _ := strings.Cut(block, "```")
		script.WriteString(commands)
	}
	return script.String()
}

var (
	fenced   = regexp.MustCompile("(?s)```.*?```")
	linkText = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headed   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unslug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// The links between the documents lead to existing files and headings.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		check(t, err)
		files = append(files, found...)
	}
	for _, file := range files {
		for _, found := range linkText.FindAllStringSubmatch(fenced.ReplaceAllString(readText(t, file), ""), -1) {
			path, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(file), path)
			if path == "" {
				to = file
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if anchor != "" && !slices.Contains(slugs(fenced.ReplaceAllString(readText(t, to), "")), anchor) {
				t.Errorf("%s: %s has no heading #%s", file, to, anchor)
			}
		}
	}
}

// slugs returns the anchors of the headings in a text.
func slugs(text string) []string {
	var all []string
	for _, heading := range headed.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return all
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	check(t, err)
	return string(text)
}
