"""Sign-in with external providers (OpenID Connect, SAML and LDAP), with common rules for users and groups."""
