"""Pages that review drafts and requests."""
