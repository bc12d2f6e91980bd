"""The Celery application: queues `publish` (one consumer) and `push`.

Tasks carry ids or nothing; PostgreSQL says what there is to do. Losing the
broker loses hints only: the beat schedule finds the same work again.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")

app = Celery("dnspanel")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
