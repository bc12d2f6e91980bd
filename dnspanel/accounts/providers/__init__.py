"""Sign-in by providers, which administrators add: OpenID Connect and SAML, with one mapping of people and groups."""
