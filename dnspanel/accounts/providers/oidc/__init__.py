"""Sign-in with OpenID Connect providers. django-allauth implements the protocol."""
