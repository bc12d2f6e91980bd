"""A task that beat sends to each queue every few seconds, to check that a worker takes tasks from the queue."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.celery import while_postgresql_answers
from dnspanel.fleet.nodes.heartbeats import answer_roll as record_answer


@shared_task(bind=True, ignore_result=True)
def answer_roll(self: Any) -> None:
    """Record that a worker of the queue took this task. Late, missing or repeated runs do no harm."""
    with while_postgresql_answers():
        record_answer(queue=str(self.request.delivery_info["routing_key"]), now=timezone.now())
