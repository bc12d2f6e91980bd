"""Pages of a user's own account: signing in, second factors, language and time zone."""
