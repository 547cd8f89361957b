package console

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
)

// Line is an entry of the activity as a sentence, with its links.
type Line struct {
	client.AuditEntry
	By            bool // the sentence begins with the user's name
	Before, After string
	Thing         string // the thing, between them; "": there is none
	Leads         string // the path of the page of the thing; "": it has none
	Difference    string // the path of the page that compares the files before and after; "": no files were changed
	Changes       []changed
}

// kind is an activity on a kind of thing.
type kind struct {
	scope activity.Scope
	verb  activity.Verb
}

// sentences are the texts of lines; %s is the thing. A sentence that begins with a capital letter has no user in front.
var sentences = map[kind]string{
	{activity.Plugin, activity.Installed}:     "added the app %s",
	{activity.Plugin, activity.Updated}:       "changed the app %s",
	{activity.Plugin, activity.SourceUpdated}: "changed the files of %s",
	{activity.Plugin, activity.Upgraded}:      "moved %s to another version",
	{activity.Plugin, activity.Uninstalled}:   "deleted the app %s",
	{activity.Plugin, activity.Disabled}:      "disabled the app %s",
	{activity.Plugin, activity.Enabled}:       "enabled the app %s",
	{activity.Plugin, activity.Withdrawn}:     "withdrew a version of %s",
	{activity.Plugin, activity.Restored}:      "restored a version of %s",
	{activity.Plugin, activity.Outdated}:      "A newer version of %s was found",
	{activity.Site, activity.Created}:         "created the site %s",
	{activity.Site, activity.Updated}:         "changed the site %s",
	{activity.Site, activity.Deleted}:         "deleted the site %s",
	{activity.Site, activity.Added}:           "put an app on the site %s",
	{activity.Site, activity.Removed}:         "took an app off the site %s",
	{activity.Site, activity.Restored}:        "restored the site %s",
	{activity.Site, activity.Previewed}:       "previewed an app on the site %s",
	{activity.Site, activity.Followed}:        "An app of another organization changed what runs on the site %s",
	{activity.Invite, activity.Created}:       "invited %s",
	{activity.Invite, activity.Resent}:        "invited %s again",
	{activity.Invite, activity.Updated}:       "took the link of the invite of %s",
	{activity.Invite, activity.Deleted}:       "deleted the invite of %s",
	{activity.Invite, activity.Accepted}:      "accepted an invite",
	{activity.Invite, activity.Declined}:      "The invite of %s was declined",
	{activity.Invite, activity.Expired}:       "The invite of %s expired",
	{activity.Invite, activity.Failed}:        "The mail to %s was refused",
	{activity.Membership, activity.Added}:     "added the member %s",
	{activity.Membership, activity.Updated}:   "changed the member %s",
	{activity.Membership, activity.Removed}:   "removed the member %s",
	{activity.Key, activity.Created}:          "created a key of %s",
	{activity.Key, activity.Revoked}:          "revoked a key of %s",
	{activity.Organization, activity.Created}: "created the organization %s",
	{activity.Organization, activity.Updated}: "changed the settings of %s",
	{activity.Organization, activity.Deleted}: "deleted the organization %s",
	{activity.Session, activity.SignedIn}:     "signed in",
	{activity.Session, activity.SignedOut}:    "signed out",
	{activity.Session, activity.Ended}:        "ended a session of %s",
	{activity.Session, activity.SignInFailed}: "Somebody failed to sign in as %s",
	{activity.Session, activity.Created}:      "created a link to sign in as %s",
	{activity.Webhook, activity.Created}:      "created the webhook %s",
	{activity.Webhook, activity.Updated}:      "changed the webhook %s",
	{activity.Webhook, activity.Deleted}:      "deleted the webhook %s",
	{activity.Webhook, activity.Rotated}:      "gave a new secret to the webhook %s",
	{activity.Webhook, activity.Tested}:       "tested the webhook %s",
	{activity.Webhook, activity.Disabled}:     "The webhook %s was switched off",
	{activity.Webhook, activity.Enabled}:      "switched the webhook %s on",
}

// own are the sentences about what people do to their own things, each with the text for %s.
var own = map[kind][2]string{
	{activity.Membership, activity.Added}:   {"%s", "joined"},
	{activity.Membership, activity.Removed}: {"%s", "left"},
	{activity.Membership, activity.Updated}: {"changed %s", "their own membership"},
	{activity.Key, activity.Created}:        {"created %s", "a key"},
	{activity.Key, activity.Revoked}:        {"revoked %s", "a key"},
	{activity.Session, activity.Ended}:      {"ended %s", "a session"},
}

// Line returns an entry as a sentence.
func (f Frame) Line(e client.AuditEntry) Line {
	l := Line{AuditEntry: e, Leads: f.leads(e), Difference: f.difference(e)}
	done := kind{activity.Scope(e.Scope), activity.Verb(e.Activity)}
	text, thing := sentences[done], line(e.Detail.Name)
	switch theirs, ok := own[done]; {
	case ok && isOwn(e):
		text, thing = theirs[0], theirs[1]
	case text == "":
		text = strings.ReplaceAll(e.Activity, "_", " ") + " " + things[done.scope] + " %s"
	}
	if e.Erased && thing == "" {
		thing = "somebody (erased)"
	}
	var has bool
	if l.Before, l.After, has = strings.Cut(text, "%s"); has {
		l.Thing = cmp.Or(thing, e.ItemID)
	}
	l.By = text[0] >= 'a' || text[0] == '%'
	for _, c := range e.Detail.Changes {
		if c.Field != "source" || l.Difference == "" {
			l.Changes = append(l.Changes, changeOf(c))
		}
	}
	return l
}

// isOwn reports whether an entry of a kind in own is about the person who made it. Only operators, who are no users,
// add members, make keys of others or change their names and addresses. Otherwise it compares addresses: the name of an
// entry is the address at that time, so it does not recognise somebody who has changed theirs since.
func isOwn(e client.AuditEntry) bool {
	if e.User == nil {
		return false
	}
	switch verb := activity.Verb(e.Activity); {
	case verb == activity.Added, verb == activity.Created:
		return true
	case verb == activity.Updated && slices.ContainsFunc(e.Detail.Changes, func(c client.Change) bool { return c.Field != "level" }):
		return true
	}
	return e.Detail.Name != "" && e.User.Email == e.Detail.Name
}

// things names the kinds of things in the activity.
var things = map[activity.Scope]string{
	activity.Plugin: "app", activity.Site: "site", activity.Invite: "invite", activity.Membership: "member", activity.Key: "key",
	activity.Organization: "organization", activity.Session: "session", activity.Webhook: "webhook",
}

// difference returns the path of the page that compares the files of an app before and after a change; "": it changed
// none, or the viewer may not see them.
func (f Frame) difference(e client.AuditEntry) string {
	if !f.Offer.SeeApps {
		return ""
	}
	for _, c := range e.Detail.Changes {
		before, after := words(c.Before), words(c.After)
		if e.Scope == string(activity.Plugin) && c.Field == "source" && before != "" && after != "" {
			return f.Home + "/apps/" + url.PathEscape(e.ItemID) + "/compare?" + url.Values{"against": {before}, "version": {after}}.Encode()
		}
	}
	return ""
}

// changed is a changed field, in words.
type changed struct {
	Field, Before, After string
	Long                 bool // its values are not shown
}

func changeOf(c client.Change) changed {
	if c.Field == "level" {
		return changed{Field: "role", Before: role(c.Before), After: role(c.After)}
	}
	before, after := words(c.Before), words(c.After)
	if before == none && after == "" { // else "none → none"
		before, after = "", none
	}
	return changed{c.Field, line(before), line(after), isLong(c.Before) || isLong(c.After)}
}

// role returns the name of a level; "": there is none.
func role(level json.RawMessage) string {
	var l access.Level
	if json.Unmarshal(level, &l) != nil || l == 0 {
		return ""
	}
	return l.String()
}

// isLong reports whether a value contains values other than strings.
func isLong(value json.RawMessage) bool {
	var texts []string
	return len(value) > 0 && (value[0] == '{' || value[0] == '[' && json.Unmarshal(value, &texts) != nil)
}

// none is an empty list in words.
const none = "none"

// words returns a value in words; "": there is none.
func words(value json.RawMessage) string {
	var text string
	var texts []string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &texts) == nil:
		return cmp.Or(strings.Join(texts, ", "), none)
	case string(value) == "true":
		return "yes"
	case string(value) == "false":
		return "no"
	}
	return string(value)
}
