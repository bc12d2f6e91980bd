"""The encryption of secrets in the database, and its master keys."""
