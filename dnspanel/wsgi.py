"""WSGI entry point of the web processes.

Threads, not an event loop: every view waits for PostgreSQL in a thread
anyway, and getting there from a loop and back costs 1.8 ms of a request that
needs 2.5 (measured with `/healthz`, uvicorn beside gunicorn). Each thread
keeps its connection to PostgreSQL.
"""

import os

from django.core.wsgi import get_wsgi_application

from dnspanel import statement_time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")

application = get_wsgi_application()
statement_time.begin(statement_time.READ)
