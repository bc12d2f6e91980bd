"""Sign-in with external providers (OpenID Connect, SAML and LDAP), with common rules for people and groups."""
