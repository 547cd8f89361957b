package console

import (
	"strconv"

	"foyer/client"
	"foyer/internal/console/markup"
)

// Keys lists the keys of whoever looks at them.
type Keys struct {
	List[client.Key]
	Mine   int64    // the one that they are signed in with
	Scopes []string // to choose from for a new one
}

func showKeys(v *visit) (markup.Page, error) {
	l, err := list(v, "keys", v.client.ListKeys)
	return markup.Fill("keys.html", Keys{l, v.keyID, v.caller.Scope.Choices()}), err
}

// Key shows a new key, this once.
type Key struct {
	Frame
	client.NewKey
}

// maxKeyDays is how long a key of the console may live that ends at all.
const maxKeyDays = 3650

func makeKey(v *visit) (next, error) {
	draft := client.KeyDraft{Scopes: v.request.PostForm["scopes"]}
	if text := v.line("days"); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > maxKeyDays {
			return next{}, wrong("days", "Must be a whole number from 1 to "+strconv.Itoa(maxKeyDays)+", or empty.")
		}
		ends := v.now.AddDate(0, 0, days)
		draft.ExpiresAt = &ends
	}
	key, err := v.client.CreateKey(v.request.Context(), draft)
	return next{page: new(markup.Fill("key.html", Key{v.frame("keys"), key}))}, err
}

func revokeKey(v *visit) (next, error) {
	id, err := number(v.line("id"))
	if err == nil {
		err = v.client.DeleteKey(v.request.Context(), id)
	}
	return next{said: "revoked"}, err
}
