"""The panel: everything that needs PostgreSQL or a browser."""

from dnspanel.celery import app as celery_app

__all__ = ["celery_app"]
