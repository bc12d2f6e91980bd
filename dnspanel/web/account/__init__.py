"""The pages of one's own account: signing in, second factors, language and time zone."""
