"""Functions for the spelling of names and addresses. They don't use the database."""
