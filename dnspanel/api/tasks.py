"""What beat does for the APIs."""

from celery import shared_task
from django.utils import timezone

from dnspanel.api.v2.http import idempotency


@shared_task
def forget_answers() -> str:
    """Once an hour: answers that no retry gets any more are gone."""
    return f"forgot answers={idempotency.forget_answers(now=timezone.now())}"
