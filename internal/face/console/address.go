package console

import (
	"context"
	"net/http"

	"foyer/internal/domain/addresschange"
	"foyer/internal/face/console/markup"
)

// AddressChange asks whether to change an address, or to undo the change: opening the link alone does nothing. The page
// also confirms that it was done.
type AddressChange struct {
	Frame
	addresschange.Change
}

func (c *Console) showChange(w http.ResponseWriter, r *http.Request) error {
	change, err := c.Addresses.Open(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	c.Write(w, r, templates, http.StatusOK, markup.Fill("address.html", AddressChange{c.bare(), change}))
	return nil
}

func (c *Console) makeChange(w http.ResponseWriter, r *http.Request) error {
	if err := c.readOwn(w, r, maxSessionForm); err != nil {
		return err
	}
	token, by := r.PathValue("token"), c.Keys.By(c.draft(w, r), 0)
	change, err := c.changed.Do(r.Context(), token, r.PostForm.Get("form"), "", func(ctx context.Context) (addresschange.Change, error) {
		return c.Addresses.Use(ctx, token, by)
	})
	if err != nil {
		return err
	}
	c.Write(w, r, templates, http.StatusOK, markup.Fill("address_changed.html", AddressChange{c.bare(), change}))
	return nil
}
