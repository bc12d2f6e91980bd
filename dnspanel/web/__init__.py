"""The web face: Django templates and htmx."""
