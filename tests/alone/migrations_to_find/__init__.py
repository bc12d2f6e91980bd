"""Migrations of the app `backup` that `tests.safe_migrations` must find, or must not find."""
