package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

const (
	idempotencyKey = "Idempotency-Key"
	// maxKeptAnswer is the size in bytes up to which an answer is stored. A larger one is rebuilt for a retry.
	maxKeptAnswer = 256 << 10
)

// withIdempotencyKey carries out a request with an Idempotency-Key called name, or replays its earlier answer.
func (a *API) withIdempotencyKey(w http.ResponseWriter, r *http.Request, route Route, c access.Caller, name string) error {
	body, err := wire.Buffer(w, r)
	if err != nil {
		return err
	}
	claim, kept, err := a.Keys.Claim(r.Context(), c, name, fingerprint(r, body), a.answerer(route, c))
	if err != nil {
		return err
	}
	if kept != nil {
		return a.replay(w, r, route, c, *kept)
	}
	to := wire.NewAnswer(r)
	stop := claim.Renew(r.Context())
	err = a.carryOut(to, r.WithContext(claim.With(r.Context())), route, c) //nolint:contextcheck // r has it
	stop()
	copyHeader(w.Header(), to.Header())
	ctx := context.WithoutCancel(r.Context()) // the client may have disconnected
	if err != nil {
		if err := claim.GiveUp(ctx); err != nil {
			a.Report(w, r, err) // then a retry must wait for the end of the lease
		}
		return err
	}
	answer := answerOf(to)
	stored := answer
	if to.Header().Get("Cache-Control") == "no-store" { // it shows a secret
		stored.Body = ""
	}
	if err := claim.Done(ctx, stored); err != nil {
		a.Report(w, r, err)
	}
	return writeKept(w, answer)
}

// replay sends an answer once more. An answer that was too large to store is rebuilt from the object's current state.
func (a *API) replay(w http.ResponseWriter, r *http.Request, route Route, c access.Caller, kept access.Answer) error {
	switch {
	case kept.Body == "" && kept.Item == "":
		return fault.New(fault.IdempotencySecretShown, "The request was carried out before, and its answer is not kept: it showed a secret, or a user who has been erased since.")
	case kept.Body != "":
		w.Header().Set("Idempotent-Replayed", "true")
		return writeKept(w, kept)
	}
	read, id := single(a.Plugins.Get, http.StatusOK, a.writePlugin), "id"
	if strings.HasPrefix(route.Path, placed) {
		read, id = a.getPlacement, "app_id"
	} else if strings.HasSuffix(route.Path, "/update_source") {
		read = a.getSource
	}
	r.SetPathValue(id, kept.Item)
	to := wire.NewAnswer(r)
	if err := read(to, r, c); err != nil {
		return err
	}
	w.Header().Set("Idempotent-Replayed", "true")
	rebuilt := answerOf(to)
	rebuilt.Status = kept.Status
	return writeKept(w, rebuilt)
}

func writeKept(w http.ResponseWriter, kept access.Answer) error {
	return wire.WriteWithETag(w, kept.Status, wire.ParseETag(kept.ETag), func(b []byte) []byte { return append(b, kept.Body...) })
}

// answerer returns a function that makes the answer for an object which the request creates or changes.
func (a *API) answerer(route Route, c access.Caller) func(any) access.Answer {
	status := http.StatusOK
	switch route.Path {
	case apps, sites, placed, invites, webhooks:
		status = http.StatusCreated
	case webhooks + "/{id}/test", webhooks + "/{id}/deliveries/{delivery_id}/redeliver":
		status = http.StatusAccepted
	}
	return func(object any) access.Answer {
		text := a.textOf(object, c)
		if text == nil {
			return access.Answer{Status: status}
		}
		answer := access.Answer{Status: status, ETag: a.etagOf(object).String()}
		if answer.Item = itemOf(object); len(text) <= maxKeptAnswer || answer.Item == "" {
			answer.Body, answer.Item = string(text), ""
		}
		return answer
	}
}

// itemOf names an object that may be large.
func itemOf(object any) string {
	switch o := object.(type) {
	case plugin.Plugin:
		return strconv.FormatInt(o.ID, 10)
	case plugin.Sources:
		return strconv.FormatInt(o.ID, 10)
	case site.Placement:
		return strconv.FormatInt(o.AppID, 10)
	}
	return ""
}

// fingerprint tells requests apart, including parameters that their operations ignore. It reads the original query,
// which prepare has trimmed.
func fingerprint(r *http.Request, body []byte) string {
	query := r.URL.RawQuery
	if _, sent, ok := strings.Cut(r.RequestURI, "?"); ok {
		query = sent
	}
	h := sha256.New()
	for _, part := range []string{r.Method, strings.TrimSuffix(r.URL.EscapedPath(), "/"), query} {
		_, _ = io.WriteString(h, part+"\n") // a hash never fails
	}
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// readIdempotencyKey reads a quoted string (RFC 8941) or a bare token.
func readIdempotencyKey(values []string) (string, error) {
	const maxKey = 255
	name := ""
	if len(values) == 1 {
		name = strings.Trim(values[0], " \t")
	}
	if inside, quoted := strings.CutPrefix(name, `"`); quoted {
		inside, ok := strings.CutSuffix(inside, `"`)
		plain := strings.NewReplacer(`\\`, "", `\"`, "").Replace(inside)
		if name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside); !ok || strings.ContainsAny(plain, `"\`) {
			name = ""
		}
	} else if strings.ContainsAny(name, " \t\",;") {
		name = ""
	}
	if name == "" || len(name) > maxKey || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fault.Field(fault.Invalid, idempotencyKey, "Must be one text of 1 to %d characters of ASCII, quoted or without spaces.", maxKey)
	}
	return name, nil
}

// copyHeader copies the handler's headers, except those that writing the answer sets.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		switch name {
		case "Etag", "Vary", "Content-Length", "Content-Type", "X-Content-Type-Options":
			continue
		case "Cache-Control":
			if values[0] != "no-store" {
				continue
			}
		}
		to[name] = values
	}
}

func answerOf(a *wire.Answer) access.Answer {
	return access.Answer{Status: a.Status, ETag: a.Header().Get("Etag"), Body: strings.TrimSuffix(a.Body.String(), "\n")}
}
