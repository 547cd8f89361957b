package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
)

// found returns the names on all pages of a list. It follows next, which the Link header must repeat.
func (r *rig) found(path string) (names []string) {
	r.t.Helper()
	first := -1
	for path != "" {
		got := r.send(r.key, "GET", path, "")
		var page struct {
			Count   int    `json:"count"`
			Next    string `json:"next"`
			Results []struct {
				Name string `json:"name"`
			} `json:"results"`
		}
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != http.StatusOK {
			r.t.Fatalf("GET %s: %d %s", path, got.status, got.body)
		}
		for _, item := range page.Results {
			names = append(names, item.Name)
		}
		if link := got.header.Get("Link"); page.Next == "" && link != "" || page.Next != "" && link != "<"+page.Next+`>; rel="next"` {
			r.t.Errorf("GET %s: Link is %q, next is %q", path, link, page.Next)
		}
		if first < 0 {
			first = page.Count
		}
		if path = strings.TrimPrefix(page.Next, baseURL); path == "" && (page.Count != len(names) || first != len(names)) {
			r.t.Errorf("count is %d, and %d on the first page, of %q", page.Count, first, names)
		}
	}
	return names
}

// The faults of all parameters are reported together.
func TestFaultsOfParameters(t *testing.T) {
	each(t, func(r *rig) {
		for path, want := range map[string][]string{
			apps + "?limit=0&plugin_type=x&ordering=y":            {"limit", "plugin_type", "ordering"},
			"/sites?ordering=x&offset=-1":                         {"offset", "ordering"},
			invites + "?offset=x&level=z&limit=y":                 {"limit", "offset", "level"},
			"/members?limit=0&level=z":                            {"limit", "level"},
			apps + "activity?limit=0&app=x&user=y":                {"limit", "app", "user"},
			apps + "?limit=0":                                     {"limit"},
			apps + "?plugin_type=x":                               {"plugin_type"},
			apps + "1/health?site=x&since=y":                      {"site", "since"},
			apps + "1/upgrade?tag=%FF&accept_changed=y&version=0": {"tag", "accept_changed", "version"},
		} {
			if got := attrs(r.t, r.wantStatus(r.key, "GET", path, "", 400)); !slices.Equal(got, want) {
				r.t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	})
}

func TestFindApps(t *testing.T) {
	each(t, func(r *rig) {
		now := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
		r.db.Now = func() time.Time { now = now.Add(time.Second); return now }
		site := r.site("shop")
		ids := map[string]string{}
		for name, fields := range map[string]string{
			"aardvark": "", "ärger": `,"description":"100% \\o_O/"`, "Ｆｕｌｌ": `,"is_global":true`, "banner": `,"plugin_type":"inline"`,
			"broken": `,"plugin_type":"source","source":{"site.ts":"export const"}`,
		} {
			ids[name] = r.app(`{"name":"` + name + `"` + fields + `}`)
		}
		root := access.RootApps
		if _, err := r.orgs.Set(r.t.Context(), access.Caller{}, r.other.ID, org.Settings{AppAccess: &root}); err != nil {
			r.t.Fatal(err)
		}
		r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+apps, `{"name":"Beacon","is_global":true}`, 201)
		r.placed(site, `{"app_id":`+ids["banner"]+`}`)
		ids["Zebra"] = ids["aardvark"]
		r.send(r.key, "PATCH", apps+ids["Zebra"], `{"description":"stripes"}`)
		r.send(r.key, "PATCH", apps+ids["Zebra"], `{"name":"Zebra"}`)
		r.send(r.key, "POST", apps+ids["banner"]+"/disable", `{"reason":"why not"}`)
		byName := []string{"banner", "Beacon", "broken", "Ｆｕｌｌ", "Zebra", "ärger"}
		for query, want := range map[string][]string{
			"ordering=name":                         byName,
			"ordering=-name":                        {"ärger", "Zebra", "Ｆｕｌｌ", "broken", "Beacon", "banner"},
			"ordering=-updated_at&search=a":         nil, // the order is compared below
			"ordering=name&search=B":                {"banner", "Beacon", "broken", "Zebra"},
			"search=ÄRGER":                          {"ärger"},
			"search=full":                           {"Ｆｕｌｌ"},
			"search=beacon":                         {"Beacon"},
			"search=" + url.QueryEscape(`100% \O_`): {"ärger"},
			"search=_":                              {"ärger"},
			"search=stripes":                        {"Zebra"},
			"search=zebra%0Astripes":                nil,
			"search=%0A":                            nil,
			"plugin_type=inline":                    {"banner"},
			"is_global=true":                        {"Beacon", "Ｆｕｌｌ"},
			"is_global=true&ordering=name":          {"Beacon", "Ｆｕｌｌ"},
			"is_global=false&ordering=name":         {"banner", "broken", "Zebra", "ärger"},
			"update=available":                      nil,
			"state=disabled":                        {"banner"},
			"state=broken":                          {"broken"},
			"state=edited":                          nil,
			"site=" + site:                          {"banner"},
			"id=" + ids["Zebra"] + "," + ids["banner"] + ",999": {"Zebra", "banner"},
			"state=broken&id=" + ids["Zebra"]:                   nil,
			"site=" + site + "&state=broken":                    nil,
			"site=" + site + "&plugin_type=inline":              {"banner"},
			"plugin_type=local&is_global=false&search":          {"Zebra", "ärger"},
		} {
			for _, limit := range []string{"", "&limit=1", "&limit=2"} {
				got := r.found(apps + "?" + query + limit)
				if strings.HasPrefix(query, "ordering=-updated_at") {
					got = slices.DeleteFunc(got, func(name string) bool { return name != "Zebra" && name != "banner" })
					want = []string{"banner", "Zebra"} // both were changed after all apps existed, and then banner was disabled
				}
				if !strings.Contains(query, "ordering") {
					slices.Sort(got)
				}
				if !slices.Equal(got, want) {
					r.t.Errorf("%s%s: %q, want %q", query, limit, got, want)
				}
			}
		}
		for query, attr := range map[string]string{
			"ordering=id": "ordering", "ordering=": "ordering", "ordering=--name": "ordering", "plugin_type=": "plugin_type", "plugin_type=Local": "plugin_type",
			"is_global=1": "is_global", "update=": "update", "state=on": "state", "site=0": "site", "id=": "id", "id=1,,2": "id", "id=x": "id", "site=1000000": "site", "search=%00": "search", "search=a%01b": "search",
			"ordering=name&after=0.7": "after",
		} {
			r.wantParts(r.key, "GET", apps+"?"+query, "", 400, `"attr":"`+attr+`"`)
		}
		r.wantParts(r.otherKey, "GET", "/api/organizations/@current/pipeline_frontend_apps?site="+site, "", 400, `"attr":"site"`)
		r.send(r.key, "PATCH", apps+ids["broken"]+"/update_source", `{"source":{"site.ts":"export const n = 1"}}`)
		if got := r.found(apps + "?state=broken"); got != nil {
			r.t.Errorf("mended, and still broken: %q", got)
		}
	})
}

func TestFindSites(t *testing.T) {
	each(t, func(r *rig) {
		for _, name := range []string{"Shop, production", "blog", "shop_staging"} {
			r.site(name)
		}
		r.wantStatus(r.key, "PATCH", sites+r.site("new"), `{"name":"Über uns"}`, 200)
		for query, want := range map[string][]string{
			"":                           {"Shop, production", "blog", "shop_staging", "Über uns"},
			"?ordering=name":             {"blog", "Shop, production", "shop_staging", "Über uns"},
			"?ordering=-created_at":      {"Über uns", "shop_staging", "blog", "Shop, production"},
			"?search=SHOP&limit=1":       {"Shop, production", "shop_staging"},
			"?search=über":               {"Über uns"},
			"?search=_&ordering=-name":   {"shop_staging"},
			"?search=%25":                nil,
			"?search=new":                nil,
			"?search=s&ordering=-name":   {"Über uns", "shop_staging", "Shop, production"},
			"?ordering=-updated_at&a=b1": {"Über uns", "shop_staging", "blog", "Shop, production"},
		} {
			if got := r.found(strings.TrimSuffix(sites, "/") + query); !slices.Equal(got, want) {
				r.t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		r.wantParts(r.key, "GET", sites+"?ordering=size", "", 400, `"attr":"ordering"`)
	})
}

// Each operation refuses a repeated parameter: one of its values would be ignored.
func TestRepeatedParameters(t *testing.T) {
	each(t, func(r *rig) {
		for path, attr := range map[string]string{
			apps + "?state=disabled&state=bogus":            "state",
			apps + "?ordering=name&ordering=bogus":          "ordering",
			apps + "?limit=1&%6Cimit=2":                     "limit",
			"/sites?search=a&search=a":                      "search",
			invites + "?status=any&status=pending":          "status",
			"/members?level=1&level=8":                      "level",
			"/activity?scope=Key&scope=Session":             "scope",
			"/events?after=1&after=2":                       "after",
			apps + "?x=1&x=2&state=disabled&limit=1&search": "",
		} {
			for _, handling := range []string{"lenient", "strict"} {
				got := r.send(r.key, "GET", path, "", "Prefer", "handling="+handling)
				switch {
				case attr == "" && handling == "strict":
				case attr == "" && got.status != http.StatusOK,
					attr != "" && (got.status != http.StatusBadRequest || !strings.Contains(got.body, `"detail":"Must be given once.","attr":"`+attr+`"`)):
					r.t.Errorf("%s, %s: %d %s", path, handling, got.status, got.body)
				}
			}
		}
	})
}
