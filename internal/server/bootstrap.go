package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// firstOrganization is the default name of the organization that the first start makes.
const firstOrganization = "My organization"

// bootstrap makes an organization, its owner and a key in an empty database, and shows them once.
func (s Server) bootstrap(ctx context.Context, d *Domain, baseURL string) error {
	orgs, keys := d.Organizations, d.Keys
	if exists, err := org.Any(ctx, d.DB); err != nil || exists {
		return err
	}
	key, isGiven, err := s.firstKey(ctx, d)
	if err != nil {
		return err
	}
	given, keySetting := s.Config.Bootstrap, "KEY"
	if given.KeyFile != "" {
		keySetting = "KEY_FILE"
	}
	email := cmp.Or(given.Email, org.NobodysEmail)
	had, err := keys.Find(ctx, key) // by a user of an earlier first start, whose organizations were all deleted
	if err != nil {
		return err
	}
	var made org.Organization
	var owner org.Membership
	var exists bool
	err = keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if exists, err = org.Any(ctx, tx); err != nil || exists {
			return err
		}
		if made, err = orgs.Insert(ctx, tx, given.Organization, cmp.Or(given.OrganizationName, firstOrganization)); err != nil {
			return bootstrapFault(map[string]string{"id": "ORGANIZATION", "name": "ORGANIZATION_NAME"}[fault.Of(err)[0].Field], err)
		}
		if owner, err = orgs.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: made.ID, User: org.User{Email: email}, Level: access.Owner}); err != nil {
			return bootstrapFault("EMAIL", err)
		}
		return bootstrapFault(keySetting, insertFirstKey(ctx, tx, keys, owner.User.ID, key, had.UserID))
	})
	if err != nil || exists {
		return err
	}
	if isGiven {
		key = ""
	}
	// The key is shown first: making the demo site takes a while, in which the process may be killed.
	return errors.Join(s.welcome(made, owner, key, baseURL), s.demo(ctx, d, made, owner))
}

// firstKey returns the given key, or a new one. The file of a given key may be missing if there were organizations
// before.
func (s Server) firstKey(ctx context.Context, d *Domain) (key string, given bool, err error) {
	key, err = s.Config.Bootstrap.GivenKey()
	if errors.Is(err, fs.ErrNotExist) {
		users, listErr := d.Organizations.Users(ctx)
		if listErr != nil || len(users) == 0 {
			return "", false, errors.Join(err, listErr)
		}
		err = nil
	}
	return cmp.Or(key, access.NewKey()), key != "", err
}

// insertFirstKey stores a user's key, unless they have it already. hadBy is the user who has it; 0: nobody.
func insertFirstKey(ctx context.Context, tx *db.Tx, keys *access.Keys, userID int64, key string, hadBy int64) error {
	switch hadBy {
	case userID:
		return nil
	case 0:
		_, err := keys.Insert(ctx, tx, access.Caller{}, access.Draft{UserID: userID, Scope: access.All}, key)
		return err
	}
	return fault.New(fault.Invalid, "This is the key of another user: give a new one, from `foyer key generate`.")
}

// demo makes a demo site, and shows the address of its try page.
func (s Server) demo(ctx context.Context, d *Domain, made org.Organization, owner org.Membership) error {
	if !s.Config.Demo || s.Config.Bootstrap != (config.Bootstrap{}) {
		return nil
	}
	tryURL, err := makeDemo(ctx, d, made, owner)
	if err != nil { // foyer works without it
		s.Log.WarnContext(ctx, "the site to look at was not made", "error", err.Error())
		return nil
	}
	_, err = fmt.Fprintf(s.Stdout, "A page that runs an app, placed on the site Demo: %s\n\n", tryURL)
	return err
}

// bootstrapFault names the setting instead of the field.
func bootstrapFault(setting string, err error) error {
	if err == nil || fault.IsOurs(err) {
		return err
	}
	return config.Wrong(fmt.Errorf("FOYER_BOOTSTRAP_%s: %s", setting, fault.Of(err)[0].Detail))
}

// welcome shows what was made. key is "" if it was given: it is not shown then.
func (s Server) welcome(o org.Organization, owner org.Membership, key, baseURL string) error {
	shown, inCommand := key+"   (shown only now: keep it)", key
	switch given := s.Config.Bootstrap; {
	case key != "":
	case given.Key != "":
		shown, inCommand = "(as given)", "$FOYER_BOOTSTRAP_KEY"
	default:
		shown, inCommand = "(as given)", "$(cat "+plaintext.Shell(given.KeyFile)+")"
	}
	signIn := "sign in with the key at " + baseURL + "/console"
	if !s.Config.SignsInBy(config.ByKey) {
		signIn = "open the link that `foyer admin user signin-link " + owner.User.Email + "` prints"
	}
	_, err := fmt.Fprintf(s.Stdout, `
Welcome to foyer. This first start has made:

  organization  %s   (%s)
  owner         %s
  key           %s
%s
Try it, in another terminal:

  curl -H "Authorization: Bearer %s" %s/api/organizations/%s/pipeline_frontend_apps/

Every operation is described at %s/docs
In a browser, %s

`, o.ID, o.Name, owner.User.Email, shown, s.unnamed(), inCommand, baseURL, o.ID, baseURL, signIn)
	if err != nil {
		return fmt.Errorf("organization %s, its owner %s and a key were made, but not shown: %w; "+
			"the key is not shown again: without it, make another with `foyer admin key create --email=%s --scope='*'`", o.ID, owner.User.Email, err, owner.User.Email)
	}
	return nil
}

// unnamed says how to set what the first start was not given; "" if nothing is missing. Only an owner without an
// address is asked by the console, for the organization's name too.
func (s Server) unnamed() string {
	const email, name = "FOYER_BOOTSTRAP_EMAIL=you@example.com", "FOYER_BOOTSTRAP_ORGANIZATION_NAME='Acme'"
	asks, lacking := "Invites name the owner and the organization: the console asks for both before the first invite,", email
	switch given := s.Config.Bootstrap; {
	case given.Email == "" && given.OrganizationName == "":
		lacking = email + " and " + name
	case given.Email == "":
	case given.OrganizationName == "":
		asks, lacking = "Invites name the organization: give it its name in the settings of the console,", name
	default:
		return ""
	}
	return "\n" + asks + "\nor start on an empty database with " + lacking + ".\n"
}
