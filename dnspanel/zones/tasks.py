"""What beat does for zones."""

from celery import shared_task
from django.utils import timezone

from dnspanel.zones import edit


@shared_task
def empty_trash() -> str:
    """Once a day: what nobody wanted back within its time is gone for good."""
    return f"emptied trash zones={edit.empty_trash(now=timezone.now())}"
