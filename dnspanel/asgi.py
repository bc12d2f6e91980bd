"""ASGI entry point of the web process."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")

# Every request runs in a thread of its own. A connection kept per thread would outlive its request until the
# garbage collector came by, and PostgreSQL would run out of them; so the web process shares a few.
settings.DATABASES["default"]["CONN_MAX_AGE"] = 0
settings.DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 2, "max_size": 20, "timeout": 10}

application = get_asgi_application()
