"""Sign-in by SAML 2.0 providers; python3-saml, which django-allauth uses too, speaks the protocol."""
