"""WSGI entry point of the web processes.

The web processes use threads instead of an event loop. Every view waits for PostgreSQL in a thread anyway. Passing a
request from a loop to a thread and back costs 1.8 ms. A whole request needs 2.5 ms (measured with `/healthz`, uvicorn
against gunicorn). Each thread keeps its connection to PostgreSQL.
"""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from dnspanel.database import statement_time
from dnspanel.database.base import keep_plans, name_process
from dnspanel.processes.head_requests import without_bodies_for_head
from dnspanel.processes.key_at_start import stop_with_another_key
from dnspanel.wake import answer_before_waking
from replication.call_room import with_room
from replication.garbage import leave_out_what_is_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")

application = with_room(without_bodies_for_head(get_wsgi_application()))
stop_with_another_key()
name_process("web")
statement_time.begin(statement_time.READ)
answer_before_waking()
keep_plans()
get_resolver().check()  # loads all views once, before gunicorn forks its processes
leave_out_what_is_loaded()
