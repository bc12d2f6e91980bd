"""Code for all of the panel's processes: the broker, Redis's health, startup checks, and work without the broker."""
