"""Sign-in by OpenID Connect providers; django-allauth speaks the protocol."""
