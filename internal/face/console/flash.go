package console

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// flashTime is how long the browser keeps the message for the next page.
const flashTime = time.Minute

// flashCookie carries a message about what was done to the page that the browser is redirected to. The message is not in
// the address: a link could make our pages show any text.
func (c *Console) flashCookie(text string) *http.Cookie {
	return c.shortCookie("flash", base64.RawURLEncoding.EncodeToString([]byte(text)), flashTime)
}

// maxFlash is the longest message in bytes: browsers drop a cookie over 4,096 bytes, and encoding makes the message a
// third longer.
const maxFlash = 3000

// setFlash has the next page show what was done.
func (c *Console) setFlash(w http.ResponseWriter, text string) {
	if len(text) > maxFlash {
		text = strings.ToValidUTF8(text[:maxFlash-len("…")], "") + "…"
	}
	if text != "" {
		http.SetCookie(w, c.flashCookie(text))
	}
}

// takeFlash returns the message about what was done before this page. It is shown once.
func (c *Console) takeFlash(w http.ResponseWriter, r *http.Request) string {
	kept, err := r.Cookie(c.flashCookie("").Name)
	if err != nil || r.Method != http.MethodGet {
		return ""
	}
	forget(w, c.flashCookie(""))
	text, err := base64.RawURLEncoding.DecodeString(kept.Value)
	if err != nil || !utf8.Valid(text) {
		return ""
	}
	return string(text)
}

// sentence says what was done to things, given their names as typed.
func sentence(format string, names ...string) string {
	shown := make([]any, len(names))
	for i, name := range names {
		shown[i] = line(name)
	}
	return strings.TrimSpace(fmt.Sprintf(format, shown...))
}
