"""The task that beat sends to each queue every few seconds: a worker that answers takes work."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.celery import while_postgresql_answers
from dnspanel.fleet.nodes.heartbeats import answer_roll as record_answer


@shared_task(bind=True, ignore_result=True)
def answer_roll(self: Any) -> None:
    """Write that a worker of the queue took this task. Twice, late or never does no harm."""
    with while_postgresql_answers():
        record_answer(queue=str(self.request.delivery_info["routing_key"]), now=timezone.now())
