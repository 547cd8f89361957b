package console

import (
	"cmp"
	"context"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

// Keys lists the viewer's keys.
type Keys struct {
	List[client.Key]
	Organizations []client.OrganizationInfo // to choose from for a new one
}

func showKeys(v *visit) (markup.Page, error) {
	l, err := list(v, "keys", v.client.ListKeys)
	if err != nil {
		return markup.Page{}, err
	}
	organizations, err := v.client.ListOrganizations(v.ctx(), client.Range{Limit: page.MaxLimit})
	return markup.Fill("keys.html", Keys{l, organizations.Results}), err
}

// Opens describes what a key gives access to.
func (p Keys) Opens(k client.Key) string {
	for _, o := range p.Organizations {
		if o.ID == k.OrganizationID {
			return o.Name
		}
	}
	return cmp.Or(k.OrganizationID, "all organizations")
}

// Revocable reports whether the key that they are signed in with may revoke a key.
func (p Keys) Revocable(k client.Key) bool {
	scope, err := access.ParseScopes(k.Scopes)
	key := access.Key{Scope: scope}
	if k.ExpiresAt != nil {
		key.ExpiresAt = *k.ExpiresAt
	}
	return err == nil && p.Offer.Caller.MayRevoke(key) == nil
}

// Key shows a new key, only now.
type Key struct {
	Frame
	client.NewKey
	BaseURL string
}

// maxKeyDays is the longest life of a key made here that expires at all.
const maxKeyDays = 3650

func makeKey(v *visit) (next, error) {
	draft := client.KeyDraft{Name: v.line("name"), Scopes: v.request.PostForm["scopes"], OrganizationID: v.line("organization")}
	if len(draft.Scopes) == 0 {
		return next{}, wrong("scopes", "Choose at least one.")
	}
	days, err := v.days("days", maxKeyDays)
	if err != nil {
		return next{}, err
	}
	if days > 0 {
		ends := v.console.Keys.Now().AddDate(0, 0, days)
		draft.ExpiresAt = &ends
	}
	key, err := v.client.CreateKey(v.ctx(), draft)
	return next{page: new(markup.Fill("key.html", Key{v.frame("keys"), key, v.console.BaseURL}))}, err
}

func revokeKey(v *visit) (next, error) { return v.revoke(v.client.DeleteKey) }

func showMemberKeys(v *visit) (markup.Page, error) {
	l, err := list(v, "member keys", v.organization.ListKeys)
	return markup.Fill("member_keys.html", l), err
}

func revokeMemberKey(v *visit) (next, error) { return v.revoke(v.organization.DeleteKey) }

// revoke revokes the key that the form names. A session that began with it has ended, too.
func (v *visit) revoke(remove func(context.Context, int64) error) (next, error) {
	id, err := number(v.line("id"))
	if err == nil {
		err = remove(v.ctx(), id)
	}
	if id == v.caller.KeyID {
		return next{path: v.console.root(), flash: "The key is revoked, and you are signed out.", signOut: true}, err
	}
	return next{flash: "The key is revoked: requests with it are refused from now on."}, err
}
