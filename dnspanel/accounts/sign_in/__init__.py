"""Sign-in without providers: passwords, second factors and passkeys."""
