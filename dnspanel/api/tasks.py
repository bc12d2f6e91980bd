"""Periodic tasks for the APIs."""

from celery import shared_task
from django.utils import timezone

from dnspanel.api.v2.http import idempotency


@shared_task
def forget_answers() -> str:
    """Delete stored responses that are too old for retries. Runs once an hour."""
    return f"forgot answers={idempotency.forget_answers(now=timezone.now())}"
