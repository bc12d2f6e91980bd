// A SAML 2.0 identity provider on loopback, of crewjam/saml.
//
// saml-provider ADDRESS USERS SERVICES: USERS is a JSON file {name: user}, read anew for each answer, so that a test
// changes groups and addresses by writing it. SERVICES is a directory of service providers' metadata. Whoever comes with
// the cookie "user" is that user; the cookie "flaw" makes the assertion wrong in one way, with a good signature.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/xml"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/crewjam/saml"
)

type user struct {
	Subject string
	Email   string
	Groups  []string
}

type provider struct{ users, services string }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// GetSession says who is signed in here.
func (p provider) GetSession(w http.ResponseWriter, r *http.Request, _ *saml.IdpAuthnRequest) *saml.Session {
	cookie, err := r.Cookie("user")
	if err != nil {
		http.Error(w, "who is it?", http.StatusUnauthorized)
		return nil
	}
	content, err := os.ReadFile(p.users)
	must(err)
	known := map[string]user{}
	must(json.Unmarshal(content, &known))
	found, ok := known[cookie.Value]
	if !ok {
		http.Error(w, "nobody", http.StatusForbidden)
		return nil
	}
	return &saml.Session{
		ID: found.Subject, CreateTime: saml.TimeNow(), ExpireTime: saml.TimeNow().Add(time.Hour), Index: "1",
		NameID: found.Subject, NameIDFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
		UserName: cookie.Value, UserEmail: found.Email, Groups: found.Groups, UserGivenName: "Eve",
		CustomAttributes: []saml.Attribute{{
			Name: "mail", NameFormat: "urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
			Values: []saml.AttributeValue{{Type: "xs:string", Value: found.Email}},
		}},
	}
}

// GetServiceProvider finds a service by its entity ID.
func (p provider) GetServiceProvider(_ *http.Request, id string) (*saml.EntityDescriptor, error) {
	paths, err := filepath.Glob(filepath.Join(p.services, "*.xml"))
	must(err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(err)
		found := &saml.EntityDescriptor{}
		must(xml.Unmarshal(content, found))
		if found.EntityID == id {
			return found, nil
		}
	}
	return nil, os.ErrNotExist
}

// MakeAssertion makes the usual one, and then the flaw that was asked for.
func (p provider) MakeAssertion(req *saml.IdpAuthnRequest, session *saml.Session) error {
	if err := (saml.DefaultAssertionMaker{}).MakeAssertion(req, session); err != nil {
		return err
	}
	cookie, err := req.HTTPRequest.Cookie("flaw")
	if err != nil {
		return nil
	}
	data := req.Assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData
	past := saml.TimeNow().Add(-time.Hour)
	switch cookie.Value {
	case "audience":
		req.Assertion.Conditions.AudienceRestrictions[0].Audience.Value = "https://another.test/metadata"
	case "no-audience":
		req.Assertion.Conditions.AudienceRestrictions = nil
	case "recipient":
		data.Recipient = "https://another.test/acs"
	case "no-recipient":
		data.Recipient = ""
	case "expired":
		req.Assertion.Conditions.NotOnOrAfter, data.NotOnOrAfter = past, past
	case "unasked":
		data.InResponseTo = ""
	case "other-question":
		data.InResponseTo = "id-of-another-question"
	case "issuer":
		req.Assertion.Issuer.Value = "https://another.test/idp"
	case "unsigned":
		req.AssertionEl = req.Assertion.Element()
	default:
		log.Fatal("no such flaw: ", cookie.Value)
	}
	return nil
}

func main() {
	address, here := os.Args[1], provider{os.Args[2], os.Args[3]}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	name := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idp"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, name, name, &key.PublicKey, key)
	must(err)
	certificate, err := x509.ParseCertificate(signed)
	must(err)
	root := url.URL{Scheme: "http", Host: address, Path: "/"}
	idp := &saml.IdentityProvider{
		Key: key, Certificate: certificate, SignatureMethod: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
		MetadataURL: *root.JoinPath("metadata"), SSOURL: *root.JoinPath("sso"),
		SessionProvider: here, ServiceProviderProvider: here, AssertionMaker: here,
	}
	log.Fatal(http.ListenAndServe(address, idp.Handler()))
}
