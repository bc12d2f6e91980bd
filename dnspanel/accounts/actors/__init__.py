"""Actors and their rights. This package only reads the database."""
