"""Changes of grants and custom roles."""
