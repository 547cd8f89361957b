package console

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

// Search finds apps, sites, people, keys and pages by a part of their names.
type Search struct {
	Frame
	Query  string
	Groups []Group
}

// Group is the results of one kind.
type Group struct {
	Kind  string
	Found []Found
	Count int    // of all results
	All   string // the path of their list; "": they have none
}

// Found leads to something by its name.
type Found struct{ Name, Note, Path string }

// foundOfEach is how many results of each kind are shown.
const foundOfEach = 6

func showSearch(v *visit) (markup.Page, error) {
	found := Search{Frame: v.frame(""), Query: searchable(v.request.URL.Query().Get("q"))}
	if found.Query == "" {
		return markup.Fill("search.html", found), nil
	}
	kinds := []func(*visit, string) (Group, error){findApps, findSites, findMembers, findInvites, findKeys}
	if key := line(found.Query); strings.HasPrefix(key, access.KeyPrefix) {
		kinds = []func(*visit, string) (Group, error){findKeys}
		found.Query = access.Prefix(key) // only this much of a pasted key is shown again
	}
	found.add(found.pages(found.Query))
	for _, find := range kinds {
		group, err := find(v, found.Query)
		if err != nil {
			return markup.Page{}, err
		}
		found.add(group)
	}
	return markup.Fill("search.html", found), nil
}

// searchable cleans typed text for a search. It keeps invisible characters, which may be part of a name: Persian has
// joiners within words.
func searchable(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	typed := []rune(strings.TrimSpace(clean))
	return string(typed[:min(len(typed), maxLine)])
}

func (s *Search) add(g Group) {
	if len(g.Found) > 0 {
		s.Groups = append(s.Groups, g)
	}
}

// find searches one kind, if the viewer may see it.
func find[T any](v *visit, kind string, may bool, all string, ask func(context.Context, client.Range) (client.Page[T], error), show func(T) Found) (Group, error) {
	g := Group{Kind: kind, All: all}
	if !may {
		return g, nil
	}
	found, err := ask(v.ctx(), client.Range{Limit: foundOfEach})
	for _, item := range found.Results {
		g.Found = append(g.Found, show(item))
	}
	g.Count = found.Count
	return g, err
}

func findApps(v *visit, q string) (Group, error) {
	return find(v, "Apps", offer(v.caller).SeeApps, v.home+"/apps?search="+url.QueryEscape(q), func(ctx context.Context, r client.Range) (client.Page[client.App], error) {
		return v.organization.ListApps(ctx, client.AppFilter{Search: q}, r)
	}, func(app client.App) Found {
		return Found{line(app.Name), brief(app.Description), appPage(v.home, app.ID)}
	})
}

func findSites(v *visit, q string) (Group, error) {
	return find(v, "Sites", offer(v.caller).SeeApps, v.home+"/sites?search="+url.QueryEscape(q), func(ctx context.Context, r client.Range) (client.Page[client.Site], error) {
		return v.organization.ListSites(ctx, client.SiteFilter{Search: q}, r)
	}, func(site client.Site) Found {
		return Found{line(site.Name), "", sitePage(v.home, site.ID)}
	})
}

func findMembers(v *visit, q string) (Group, error) {
	list := v.home + "/members?search="
	return find(v, "Members", offer(v.caller).SeePeople, list+url.QueryEscape(q), func(ctx context.Context, r client.Range) (client.Page[client.Member], error) {
		return v.organization.ListMembers(ctx, client.MemberFilter{Search: q}, r)
	}, func(m client.Member) Found {
		name := line(strings.TrimSpace(m.User.FirstName + " " + m.User.LastName))
		if name == "" {
			return Found{whole(m.User.Email), "", list + url.QueryEscape(m.User.Email)}
		}
		return Found{name, whole(m.User.Email), list + url.QueryEscape(m.User.Email)}
	})
}

func findInvites(v *visit, q string) (Group, error) {
	list := v.home + "/invites?status=any&search="
	return find(v, "Invites", offer(v.caller).SeePeople, list+url.QueryEscape(q), func(ctx context.Context, r client.Range) (client.Page[client.Invite], error) {
		return v.organization.ListInvites(ctx, client.InviteFilter{Status: []string{"any"}, Search: q}, r)
	}, func(i client.Invite) Found {
		return Found{whole(i.TargetEmail), line(i.FirstName), list + url.QueryEscape(i.TargetEmail)}
	})
}

// findKeys finds keys by a part of their names, or by the start of the key: admins search all keys, others their own. The
// API has no search for keys, and a page makes at most four requests to it.
func findKeys(v *visit, q string) (Group, error) {
	g, all, folded := Group{Kind: "Keys"}, page.Page{Limit: math.MaxInt32}, search.Fold(q)
	add := func(key access.Key, note, path string) {
		if !strings.HasPrefix(key.Prefix, q) && !strings.Contains(search.Fold(key.Name), folded) {
			return
		}
		if g.Count++; g.Count <= foundOfEach {
			g.Found = append(g.Found, Found{cmp.Or(line(key.Name), key.Prefix), strings.TrimSpace(key.Prefix + "… " + note), path})
		}
	}
	if offer(v.caller).SeeKeys {
		g.All = v.home + "/keys"
		found, err := v.console.Keys.OfMembers(v.ctx(), v.caller, all)
		for _, key := range found.Items {
			add(key.Key, whole(key.UserEmail), g.All)
		}
		return g, err
	}
	g.All = v.console.root() + "/keys" + v.navigation().In
	found, err := v.console.Keys.Own(v.ctx(), v.caller, all)
	for _, key := range found.Items {
		add(key, "", g.All)
	}
	return g, err
}

// pages finds pages of the console by their usual names.
func (f Frame) pages(q string) Group {
	home, root, in, offered, g := f.Home, f.Root, f.Around.In, f.Offer, Group{Kind: "Pages"}
	q = search.Fold(q)
	for _, p := range []struct {
		name, path, words string
		may               bool
	}{
		{"Overview", home, "first steps home", true},
		{"Apps", home + "/apps", "plugins updates upgrade", offered.SeeApps},
		{"Add an app", home + "/apps/new", "install catalog repository git create", offered.ChangeApps},
		{"Unused apps", home + "/apps/unused", "", offered.SeeApps},
		{"Sites", home + "/sites", "snippet element page", offered.SeeApps},
		{"Members", home + "/members", "people users roles team", offered.SeePeople},
		{"Invites", home + "/invites", "pending resend", offered.SeePeople},
		{"Invite people", home + "/invites/new", "", offered.Invite},
		{"Webhooks", home + "/webhooks", "events deliveries secret", offered.SeeWebhooks},
		{"Keys of members", home + "/keys", "api key token", offered.SeeKeys},
		{"Your keys", root + "/keys" + in, "api key token new", true},
		{"Activity", home + "/audit", "history audit log export", offered.SeeAudit},
		{"Activity", home + "/activity", "history log", offered.SeeApps && !offered.SeeAudit},
		{"Settings", home + "/settings", "organization name policy defaults domains days invites expire", true},
		{"Profile", root + "/profile" + in, "name address password", true},
		{"Invitations", root + "/invitations" + in, "accept decline join", offered.ChangeSelf},
		{"Organizations", root + in, "switch", true},
		{"Sessions", root + "/sessions" + in, "sign out devices browsers", offered.SeeSessions},
		{"Documentation", f.Docs(), "help api reference guides", true},
	} {
		words := strings.Fields(search.Fold(p.name + " " + p.words))
		if p.may && (strings.HasPrefix(search.Fold(p.name), q) || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, q) })) {
			g.Found = append(g.Found, Found{Name: p.name, Path: p.path})
		}
	}
	g.Count = len(g.Found)
	return g
}
