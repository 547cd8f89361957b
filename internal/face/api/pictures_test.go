package api_test

import (
	"encoding/json"
	"testing"

	"foyer/client"
)

// A picture is sent and answered as base64. Content that is neither base64 nor text is refused.
func TestPictures(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		r.wantParts(r.key, "PATCH", apps+id+"/update_source", `{"source":{"a.md":{"base64":"YQ=="}},"b.png":{"base64":"iVAA/w=="}}`, 200, `"source":{"a.md":"a","b.png":{"base64":"iVAA/w=="}}`)
		for body, want := range map[string]string{`{"c.png":{"base64":"/w=="}}`: `"c.png":{"base64":"/w=="}`, `{"c.png":{"base64":"YQA="}}`: `"c.png":{"base64":"YQA="}`} {
			r.wantParts(r.key, "PATCH", apps+id+"/update_source", body, 200, want)
		}
		for _, wrong := range []string{`7`, `{}`, `{"base64":7}`, `{"base64":null}`, `{"base64":"iVAA/w"}`, `{"base64":"iVAA_w=="}`, `{"base64":"YQ==","more":1}`, `{"text":"a"}`, `["YQ=="]`} {
			for _, body := range []string{`{"source":{"a.png":` + wrong + `}}`, `{"a.png":` + wrong + `}`} {
				r.wantStatus(r.key, "PATCH", apps+id+"/update_source", body, 400)
			}
		}
		r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"a.ts":{"base64":"/w=="}}`, 400) // bytes as a text

		var files client.Files
		got := r.send(r.key, "GET", apps+id+"/source", "")
		var source struct{ Source client.Files }
		if err := json.Unmarshal([]byte(got.body), &source); err != nil { //nolint:musttag // its names are matched in any case
			r.t.Fatal(err)
		}
		if files = source.Source; files["a.md"] != "a" || files["b.png"] != "\x89P\x00\xff" {
			r.t.Errorf("the client reads %q", files)
		}
		edits := client.FileEdits{"a.md": new("b"), "b.png": new(files["b.png"]), "c.md": nil}
		body, err := json.Marshal(client.SourcePatch{Source: edits})
		if want := `{"source":{"a.md":"b","b.png":{"base64":"iVAA/w=="},"c.md":null}}`; err != nil || string(body) != want {
			r.t.Errorf("the client sends %s, %v; want %s", body, err, want)
		}

		r.wantStatus(r.key, "POST", apps, `{"name":"y","plugin_type":"source","source":`+string(mustJSON(r, client.Files{"a.png": "\x00"}))+`}`, 201)
	})
}

func mustJSON(r *rig, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}
