"""Django's PostgreSQL backend with the panel's changes."""
