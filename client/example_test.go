package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"foyer/client"
)

// Example lists an organization's apps, then invites somebody.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(pretend))
	defer server.Close()

	ctx := context.Background()
	c, err := client.New(server.URL, "foy_…")
	if err != nil {
		fmt.Println(err)
		return
	}
	organization := c.Organization(client.Current)

	for app, err := range organization.AllApps(ctx, client.AppFilter{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("app", app.ID, app.Name)
	}

	_, err = organization.CreateInvite(ctx, client.InviteDraft{TargetEmail: "ada", Level: client.LevelAdmin})
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Status, refused.Code, "in", refused.Attr)
	}

	// Output:
	// app 42 Cookie banner
	// 400 invalid_input in target_email
}

// pretend answers like a foyer server with one app.
func pretend(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"count": 1, "next": null, "previous": null, "results": [{"id": 42, "name": "Cookie banner"}]}`)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `{"type": "validation_error", "code": "invalid_input", "detail": "Must be an e-mail address.", "attr": "target_email"}`)
}
