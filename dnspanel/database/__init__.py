"""The backend of Django for PostgreSQL, as the panel needs it."""
