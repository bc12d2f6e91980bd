"""Who acts, and what they are allowed to do: read, never written."""
