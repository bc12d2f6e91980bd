// An OpenID Connect provider on loopback, of zitadel/oidc (certified by the OpenID Foundation) and its example storage.
//
// oidc-provider ADDRESS USERS REDIRECT_URI...: USERS is a JSON file {id: user}, read anew for each answer, so that a
// test changes groups and addresses by writing it. Each user has the password "secret", each client "client" too.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

type user struct {
	Name          string
	Email         string
	EmailVerified bool
	Groups        []string
}

type users struct{ path string }

func (u users) read() map[string]user {
	found := map[string]user{}
	content, err := os.ReadFile(u.path)
	if err == nil {
		err = json.Unmarshal(content, &found)
	}
	if err != nil {
		log.Fatal(err)
	}
	return found
}

func (u users) GetUserByID(id string) *storage.User {
	found, ok := u.read()[id]
	if !ok {
		return nil
	}
	return &storage.User{
		ID: id, Username: found.Name, Password: "secret", Email: found.Email, EmailVerified: found.EmailVerified,
	}
}

func (u users) GetUserByUsername(name string) *storage.User {
	for id, found := range u.read() {
		if found.Name == name {
			return u.GetUserByID(id)
		}
	}
	return nil
}

func (u users) ExampleClientID() string { return "service" }

// withGroups adds the claim that this provider's administrator has mapped to every scope.
type withGroups struct {
	*storage.Storage
	users users
}

func (s withGroups) SetUserinfoFromRequest(
	ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string,
) error {
	info.AppendClaims("groups", s.users.read()[token.GetSubject()].Groups)
	return s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
}

func main() {
	address, known := os.Args[1], users{os.Args[2]}
	storage.RegisterClients(storage.WebClient("client", "secret", os.Args[3:]...))
	stored := withGroups{storage.NewStorage(known), known}
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	log.Fatal(http.ListenAndServe(address, exampleop.SetupServer("http://"+address, stored, logger, false)))
}
