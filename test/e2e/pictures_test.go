package e2e

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write the pictures of the documentation into this folder")

// maxPicture is the largest size of a picture of the documentation.
const maxPicture = 40 << 10

// TestPictures takes the pictures of the documentation from an example organization, so that they stay accurate. They are
// small enough for slow connections.
func TestPictures(t *testing.T) {
	t.Parallel()
	if *pictures == "" {
		t.Skip("make pictures")
	}
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	key := s["BOOTSTRAP_KEY"]
	for _, app := range []string{
		`{"plugin_type":"source","name":"Banner","description":"What visitors see first.","source":{"site.ts":"import './banner.css'\n\nexport function inject({ config }: { config: { text: string } }) {\n    const banner = document.createElement('div')\n    banner.className = 'banner'\n    banner.textContent = config.text\n    document.body.prepend(banner)\n    return () => banner.remove()\n}\n","banner.css":".banner { padding: 1rem; color: white; background: teal }\n","plugin.json":"{\"name\": \"Banner\", \"config\": [{\"key\": \"text\", \"name\": \"Text\", \"type\": \"string\", \"default\": \"Hello!\", \"site\": true}]}\n"}}`,
		`{"plugin_type":"source","name":"Cookie notice","description":"Asks once, and remembers.","source":{"site.ts":"export function inject() {}\n"}}`,
		`{"plugin_type":"source","name":"Feedback","description":"A button at the edge of the page.","source":{"site.ts":"export const x = ;\n"}}`,
	} {
		i.call(key, "POST", "/pipeline_frontend_apps", app, 201)
	}
	i.call(key, "PATCH", "/pipeline_frontend_apps/1/update_source", `{"source":{"banner.css":".banner { padding: 2rem; color: white; background: navy }\n"},"message":"Calmer colors"}`, 200)
	i.call(key, "POST", "/sites", `{"name":"Shop","origins":["https://shop.acme.example"]}`, 201)
	i.call(key, "POST", "/sites/1/apps", `{"app_id":1,"config":{"text":"Free delivery until Sunday"}}`, 201)
	i.call(key, "POST", "/sites/1/apps", `{"app_id":2,"paths":["/**","!/checkout"]}`, 201)
	for _, email := range []string{"ada@acme.example", "alan@acme.example"} {
		i.call(key, "POST", "/invites", `{"target_email":"`+email+`"}`, 201)
	}
	ctx := browser(t)
	look(ctx, t, "sign-in", "Sign in", chromedp.EmulateViewport(1100, 480), to(i.url+"/console"))
	look(ctx, t, "signed-in", "My organization", fill("key", key), press("Sign in"))
	for name, page := range map[string]struct{ path, heading string }{
		"overview": {"/console/@current", "My organization"},
		"apps":     {"/console/@current/apps", "Apps"},
		"site":     {"/console/@current/sites/1", "Shop"},
		"values":   {"/console/@current/sites/1/apps/1", "Banner"},
		"editor":   {"/console/@current/apps/1/source?file=site.ts", "site.ts"},
		"version":  {"/console/@current/apps/1/versions/2", "Version 2"},
		"search":   {"/console/@current/search?q=b", "Search"},
	} {
		look(ctx, t, name, page.heading, to(i.url+page.path), settled)
		shown, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		picture := reduce(t, shown)
		if len(picture) > maxPicture {
			t.Errorf("%s has %d bytes", name, len(picture))
		}
		check(t, os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o644)) // it is checked in
	}
}

// maxHeight is how much of a page a picture shows, in pixels.
const maxHeight = 900

// reduce crops a picture to the upper part of a page, in its most frequent colors, which takes a third of the bytes.
func reduce(t *testing.T, shown []byte) []byte {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(shown))
	check(t, err)
	size := picture.Bounds()
	size.Max.Y = min(size.Max.Y, maxHeight)
	counts := map[color.Color]int{}
	for y := range size.Dy() {
		for x := range size.Dx() {
			counts[picture.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	few := image.NewPaletted(size, colors[:min(len(colors), 48)])
	draw.Draw(few, size, picture, image.Point{}, draw.Src)
	var out bytes.Buffer
	check(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}

// settled waits for what scripts add to a page.
var settled = chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](`document.readyState === "complete" && (!document.querySelector(".tree a[data-file]") || document.querySelector(".edited > div") !== null)`))
	return err
})
