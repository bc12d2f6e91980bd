"""The pages of a person's own account: signing in, second factors, language and time zone."""
