"""Sign-in with SAML 2.0 providers. python3-saml, which django-allauth also uses, implements the protocol."""
