"""The ways to sign in here: passwords, second factors, passkeys."""
