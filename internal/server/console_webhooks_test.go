package server_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// A webhook is made, tested and changed, gets another secret and is deleted, all by its pages.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		came := make(chan string, 100)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came <- r.Header.Get("Webhook-Id") }))
		t.Cleanup(receiver.Close)
		v := visit(t, s, s.key)
		const webhooks = "/console/@current/webhooks"
		v.want(200, "There are no webhooks yet.", v.get(webhooks))
		v.want(400, `<li><a href="#receiver">Address: Must be a url like`, v.post(webhooks, "do", "create", "receiver", "x", "events", "app.*"))
		v.want(400, `<a href="#events">Events: Choose at least one.`, v.post(webhooks, v.get(webhooks).fill(t, "create", "receiver", receiver.URL)...))
		both := v.post(webhooks, v.get(webhooks).fill(t, "create", "receiver", "x")...)
		v.want(400, `<a href="#events">Events: Choose at least one.`, both)
		v.want(400, `<a href="#receiver">Address: Must be a url like`, both)
		made := v.post(webhooks, "do", "create", "receiver", receiver.URL, "events", "app.*", "events", "invite.accepted", "description", "CI <b>")
		secret := regexp.MustCompile(`whsec_[\w+/=&#;]+`)
		v.want(200, "it is not shown again", made)
		first := secret.FindString(made.body)
		page := "/console/@current" + regexp.MustCompile(`/webhooks/\d+`).FindString(v.get(webhooks).body)
		for _, path := range []string{webhooks, page} {
			v.want(200, "CI <b>", v.get(path))
			if shown := v.get(path); first == "" || secret.MatchString(shown.body) {
				t.Errorf("%s shows the secret, or it never was: %q", path, first)
			}
		}
		v.want(200, "Nothing was sent yet.", v.get(page))
		v.want(200, "A test is on its way. Reload this page", v.post(page, "do", "test"))
		id := <-came
		for !strings.Contains(v.get(page).body, "delivered") { // until the delivery has been stored
		}
		v.want(200, id[:12], v.get(page))
		v.want(200, `>Send again<span class="hidden">: webhook.test</span></button>`, v.get(page)) // with the name that is shown
		delivery := must(s.ListDeliveries(t.Context(), 1, client.Range{}))(t).Results[0]
		v.want(200, "on its way again. Reload this page", v.post(page, "do", "redeliver", "delivery", itoa(delivery.ID)))
		if again := <-came; again != id {
			t.Errorf("%s came, then %s", id, again)
		}
		v.want(404, "It is gone", v.post(page, "do", "redeliver", "delivery", "99"))
		v.want(400, `<li><a href="#receiver">Address: Must be a url like`, v.post(page, "do", "describe", "receiver", "x", "events", "app.*"))
		v.want(400, "Choose at least one.", v.post(page, "do", "describe", "receiver", receiver.URL))
		v.want(200, "The webhook is changed: address, events.", v.post(page, "do", "describe", "receiver", receiver.URL+"/hook", "events", "site.*"))
		v.want(200, "The webhook is off", v.post(page, "do", "switch"))
		v.lacks(200, `value="test"`, v.get(page))
		v.want(200, "The webhook is on", v.post(page, "do", "switch", "on", "on"))
		rotated := v.post(page, "do", "rotate")
		v.want(200, "signed with the old one as well", rotated)
		if second := secret.FindString(rotated.body); second == "" || second == first {
			t.Errorf("%q, then %q", first, second)
		}
		if w := must(s.GetWebhook(t.Context(), 1))(t); w.URL != receiver.URL+"/hook" || len(w.Events) != 1 || w.Events[0] != "site.*" || !w.Enabled {
			t.Errorf("%+v", w)
		}
		other := visit(t, s, join(t, s))
		other.want(403, "This needs a key with the scope *", other.get(webhooks))
		other.lacks(200, "/webhooks", other.get("/console/@current"))
		v.want(200, "The webhook is deleted.", v.post(page, "do", "delete"))
		v.want(404, "Not found", v.get(page))
	})
}

// The address of a webhook may be secret, so it is not kept when a session has ended: a user who has edited it must
// type it again, and the page does not say that only the rest was changed.
func TestConsoleAddressIsNotKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		for _, stored := range []string{"https://hooks.x.example/services/canary", "https://hooks.x.example/?token=canary"} {
			made := must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: &stored, Events: []string{"app.*"}}))(t)
			page := "/console/@current/webhooks/" + itoa(made.ID)
			resend := func(changed ...string) shown {
				out := visit(t, s, "")
				asked := out.post(page, v.get(page).fill(t, "describe", changed...)...)
				again := out.post("/console/session", "key", s.key, "then", page, "sent", asked.hidden("sent")[0])
				if strings.Contains(asked.body+again.body, "canary") {
					t.Errorf("%s is shown", stored)
				}
				var form []string
				for _, f := range regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(again.body, -1) {
					form = append(form, html.UnescapeString(f[1]), html.UnescapeString(f[2]))
				}
				return out.post(page, form...)
			}
			v.want(200, "The webhook is changed: description.", resend("description", "For the shop"))
			refused := resend("receiver", stored+"2", "description", "For all")
			v.want(400, `<li><a href="#receiver">Address: `, refused)
			v.want(200, "The webhook is changed: address, description.", v.post(page, refused.fill(t, "describe", "receiver", stored+"3")...))
			if w := must(s.GetWebhook(t.Context(), made.ID))(t); w.URL != stored+"3" || w.Description != "For all" {
				t.Errorf("%+v", w)
			}
		}
	})
}
