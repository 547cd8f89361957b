package console

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// flashTime is how long the browser keeps what the next page is to say.
const flashTime = time.Minute

// flashCookie carries what was done to the page that the browser is sent to. It is no part of the
// address: a link would have our pages say whatever it likes.
func (c *Console) flashCookie(text string) *http.Cookie {
	cookie := c.cookie(base64.RawURLEncoding.EncodeToString([]byte(text)))
	cookie.Name += "-flash"
	cookie.MaxAge = int(flashTime.Seconds())
	return cookie
}

// maxFlash is how many bytes of it are said: browsers drop a cookie of more than 4,096, and in a cookie they are a third
// more.
const maxFlash = 3000

// setFlash has the next page say what was done.
func (c *Console) setFlash(w http.ResponseWriter, text string) {
	if len(text) > maxFlash {
		text = strings.ToValidUTF8(text[:maxFlash-len("…")], "") + "…"
	}
	if text != "" {
		http.SetCookie(w, c.flashCookie(text))
	}
}

// takeFlash is what was done before this page is shown. It is said once.
func (c *Console) takeFlash(w http.ResponseWriter, r *http.Request) string {
	kept, err := r.Cookie(c.flashCookie("").Name)
	if err != nil || r.Method != http.MethodGet {
		return ""
	}
	done := c.flashCookie("")
	done.MaxAge = -1
	http.SetCookie(w, done)
	text, err := base64.RawURLEncoding.DecodeString(kept.Value)
	if err != nil || !utf8.Valid(text) {
		return ""
	}
	return string(text)
}

// sentence says what was done to things, by their names as they were typed.
func sentence(format string, names ...string) string {
	shown := make([]any, len(names))
	for i, name := range names {
		shown[i] = line(name)
	}
	return strings.TrimSpace(fmt.Sprintf(format, shown...))
}
