package console

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
)

// Members lists the members of an organization.
type Members struct {
	List[client.Member]
	Filter MemberForm
	query  string // of the list
}

// PageOf is the path of a page about a member of the list. The page links back to the list.
func (p Members) PageOf(m client.Member, page string) string {
	return p.Home + "/members/" + m.ID + "/" + page + p.query
}

// MemberForm is the page's filter, as typed. ID is that of one member, to whom an entry of the activity leads.
type MemberForm struct{ Search, Role, ID string }

// Any reports whether the list is narrowed down.
func (f MemberForm) Any() bool { return f != MemberForm{} }

func showMembers(v *visit) (markup.Page, error) {
	q := v.request.URL.Query()
	form := MemberForm{strings.TrimSpace(q.Get("search")), q.Get("role"), q.Get("id")}
	filter := client.MemberFilter{Search: form.Search}
	l, err := list(v, "members", func(ctx context.Context, part client.Range) (client.Page[client.Member], error) {
		if form.ID != "" {
			return v.oneMember(ctx, form.ID)
		}
		if form.Role != "" {
			level, err := access.ParseLevel("role", form.Role)
			if err != nil {
				return client.Page[client.Member]{}, wrong("level", "Choose one of the list.")
			}
			filter.Level = client.Level(level)
		}
		return v.organization.ListMembers(ctx, filter, part)
	})
	return markup.Fill("members.html", Members{l, form, v.query()}), err
}

// oneMember returns a list of the member with an id; it is empty if there is none.
func (v *visit) oneMember(ctx context.Context, id string) (client.Page[client.Member], error) {
	m, err := v.organization.GetMember(ctx, id)
	if client.IsNotFound(err) {
		return client.Page[client.Member]{}, nil
	}
	return client.Page[client.Member]{Count: 1, Results: []client.Member{m}}, err
}

// query returns the query of the page, with its question mark.
func (v *visit) query() string {
	if query := v.request.URL.Query(); len(query) > 0 {
		return "?" + query.Encode()
	}
	return ""
}

// members returns the path of the list that somebody came from to a page about a member.
func (v *visit) members() string { return v.home + "/members" + v.query() }

// Membership is the page on which a member's role is changed, or the member is removed.
type Membership struct {
	Frame
	Member    client.Member
	LastOwner bool   // who must stay an owner
	Back      string // the path of the list of members
}

// Oneself reports whether it is the viewer's own membership.
func (p Membership) Oneself() bool { return p.Offer.Is(p.Member.User) }

// May reports whether the role may be changed.
func (p Membership) May() bool {
	return p.Offer.SetLevels && p.Offer.Reaches(p.Member.Level)
}

// MayGo reports whether the member may be removed, or leave.
func (p Membership) MayGo() bool { return p.May() || p.Oneself() && p.Offer.Leave() }

// name is a user's name in a sentence.
func name(u client.User) string {
	if u.FirstName != "" {
		return u.FirstName
	}
	return u.Email
}

// Name is the member's name in a sentence.
func (p Membership) Name() string { return name(p.Member.User) }

// member reads the member that the path names.
func (v *visit) member() (client.Member, error) {
	return v.organization.GetMember(v.ctx(), v.request.PathValue("member"))
}

func showRole(v *visit) (markup.Page, error) { return v.membership("role.html", Membership.May) }
func showRemoval(v *visit) (markup.Page, error) {
	return v.membership("removal.html", Membership.MayGo)
}

func (v *visit) membership(template string, offered func(Membership) bool) (markup.Page, error) {
	member, err := v.member()
	if err != nil {
		return markup.Page{}, err
	}
	p := Membership{Frame: v.frame("members"), Member: member, Back: v.members()}
	if member.Level == client.LevelOwner {
		owners, err := v.organization.ListMembers(v.ctx(), client.MemberFilter{Level: client.LevelOwner}, client.Range{Limit: 1})
		if err != nil {
			return markup.Page{}, err
		}
		p.LastOwner = owners.Count == 1
	}
	if !offered(p) {
		err = cmp.Or(v.caller.Scope.Require(access.MemberWrite), org.MayChange(v.caller.Level, access.Level(member.Level)))
	}
	return markup.Fill(template, p), err
}

func setLevel(v *visit) (next, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return next{}, wrong("level", "Choose a role.")
	}
	member, err := v.member()
	if err != nil {
		return next{}, err
	}
	if v.line(was("level")) != strconv.Itoa(int(member.Level)) { // a change that was meant to raise the role might lower it
		return next{}, wrong("level", "Somebody else has changed it: "+v.roleOf(member)+" Choose again.")
	}
	if member, err = v.organization.SetLevel(v.ctx(), member.ID, client.Level(level)); err != nil {
		return next{}, err
	}
	return next{path: v.members(), flash: v.roleOf(member)}, nil
}

// roleOf describes a member's role now.
func (v *visit) roleOf(m client.Member) string {
	if offer(v.caller).Is(m.User) {
		return sentence("You are now %s.", withArticle(m.Level))
	}
	return sentence("%s is now %s.", name(m.User), withArticle(m.Level))
}

// withArticle returns a role with its article.
func withArticle(l client.Level) string {
	if l == client.LevelMember {
		return "a member"
	}
	return "an " + access.Level(l).String()
}

func removeMember(v *visit) (next, error) {
	member, err := v.member()
	if err == nil {
		err = v.organization.RemoveMember(v.ctx(), member.ID)
	}
	if err != nil {
		return next{}, err
	}
	if offer(v.caller).Is(member.User) { // a key that is bound to the organization ends with the membership
		flash := sentence("You have left %s.", v.caller.Organization.Name)
		return next{path: v.console.root(), flash: flash, signOut: v.caller.BoundTo != ""}, nil
	}
	return next{path: v.members(), flash: sentence("%s is no longer a member.", name(member.User))}, nil
}
