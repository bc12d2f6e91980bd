"""Sign-in without external providers: passwords, second factors and passkeys."""
