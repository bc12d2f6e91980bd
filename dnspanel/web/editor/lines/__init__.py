"""Parse lines and tables that people type or paste."""
