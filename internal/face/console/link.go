package console

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/domain/signin"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// SentLink says that a link was mailed, if the address belongs to a user.
type SentLink struct {
	Frame
	Email string
	Back  string // the path of the page that they wanted to see
}

// SignInLink asks whether to sign in with a link: programs that scan mails only open the link, which does not use it up.
type SignInLink struct {
	Frame
	Email string
}

// mailLink has a link mailed to the typed address.
func (c *Console) mailLink(w http.ResponseWriter, r *http.Request) error {
	if err := c.Limit(w, r); err != nil {
		return err
	}
	if err := c.readOwn(w, r, maxSessionForm); err != nil {
		return err
	}
	email, from := r.PostForm.Get("email"), c.Network(r)
	_, err := c.mailed.Do(r.Context(), from, r.PostForm.Get("form"), strings.TrimSpace(email), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.SignIn.Ask(ctx, email, from)
	})
	if err != nil {
		return err
	}
	then := r.PostForm.Get("then")
	http.SetCookie(w, c.thenCookie(then))
	c.Write(w, r, templates, http.StatusAccepted, markup.Fill("sent_link.html", SentLink{c.bare(), email, c.within(then, c.root())}))
	return nil
}

// thenCookie stores the page that somebody wanted to see in the browser that asks for a link, for when that browser opens
// it. The link itself carries no destination.
func (c *Console) thenCookie(then string) *http.Cookie {
	if len(then) > maxThen {
		then = ""
	}
	return c.shortCookie("then", base64.RawURLEncoding.EncodeToString([]byte(then)), signin.LinkTime)
}

// takeThen returns the page that somebody wanted to see when they asked for a link in this browser.
func (c *Console) takeThen(w http.ResponseWriter, r *http.Request) string {
	kept, err := r.Cookie(c.thenCookie("").Name)
	if err != nil {
		return ""
	}
	forget(w, c.thenCookie(""))
	then, err := base64.RawURLEncoding.DecodeString(kept.Value)
	if err != nil {
		return ""
	}
	return string(then)
}

// linkPage answers requests for the page of a link with do. A link that does not work has a page of its own, and is counted.
func (c *Console) linkPage(do func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := c.Check(w, r)
		if err == nil {
			if err = do(w, r); err != nil && !fault.IsOurs(err) {
				err = cmp.Or(c.Limit(w, r), err)
			}
		}
		if err == nil || wire.DropIfDisconnected(w, r, err) {
			return
		}
		shown := ErrorPage{Frame: c.bare(), Heading: "That did not work"}
		status := c.describe(w, r, err, &shown)
		switch {
		case fault.Is(err, fault.NotFound):
			shown.Heading, shown.Detail = "This link does not work", "" // the page says what may be wrong with it
		case fault.Is(err, fault.Expired):
			shown.Heading = "This link has expired"
		}
		c.Write(w, r, templates, status, markup.Fill("no_link.html", shown))
	})
}

func (c *Console) showLink(w http.ResponseWriter, r *http.Request) error {
	email, err := c.SignIn.Open(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	c.Write(w, r, templates, http.StatusOK, markup.Fill("link_in.html", SignInLink{c.bare(), email}))
	return nil
}

func (c *Console) useLink(w http.ResponseWriter, r *http.Request) error {
	if err := c.readOwn(w, r, maxSessionForm); err != nil {
		return err
	}
	if err := c.mayKeep(r); err != nil {
		return err
	}
	token, draft := r.PathValue("token"), c.draft(w, r)
	in, err := c.entered.Do(r.Context(), token, r.PostForm.Get("form"), "", func(ctx context.Context) (signin.Entered, error) {
		return c.SignIn.Use(ctx, token, draft)
	})
	if err != nil {
		return err
	}
	return c.enter(w, r, in, c.takeThen(w, r))
}

// Keep gives the browser a session.
func (c *Console) Keep(w http.ResponseWriter, session string) {
	http.SetCookie(w, c.cookie(session))
	forget(w, c.guestCookie(""))
}

// enter gives the browser its session, and redirects to a page.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, in signin.Entered, then string) error {
	if in.Guest != "" {
		http.SetCookie(w, c.guestCookie(in.Guest))
		forget(w, c.cookie("")) // the browser is no longer signed in as the user before
		redirectTo(w, c.prefix+guestPath)
		return nil
	}
	identity, err := c.Keys.IdentifySession(r.Context(), in.Session)
	if err != nil {
		return err
	}
	c.Keep(w, in.Session)
	redirectTo(w, c.landing(r, identity, then))
	return nil
}
