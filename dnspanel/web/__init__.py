"""The web interface, built with Django templates and htmx."""
