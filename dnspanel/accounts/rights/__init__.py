"""Change grants and custom roles."""
