"""What the checks say against published records."""
