"""What beat does for zones."""

from celery import shared_task
from django.utils import timezone

from dnspanel.zones import edit, store_rrsets


@shared_task
def empty_trash() -> str:
    """Once a day: what nobody wanted back within its time is gone for good."""
    return f"emptied trash zones={edit.empty_trash(now=timezone.now())}"


@shared_task(name="dnspanel.zones.tasks.tend_search")
def maintain_search_index() -> str:
    """Now and then: what was written since is sorted into the index that searches use, before anybody waits for it."""
    return f"tended search pages={store_rrsets.sort_in_new_rdata()}"
