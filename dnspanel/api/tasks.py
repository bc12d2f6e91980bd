"""What beat does for the APIs."""

from celery import shared_task
from django.utils import timezone

from dnspanel.api.v2.http import idempotency


@shared_task
def forget_answers() -> str:
    """Forget answers that no retry gets any more. Runs once an hour."""
    return f"forgot answers={idempotency.forget_answers(now=timezone.now())}"
