"""Changes to grants and custom roles."""
