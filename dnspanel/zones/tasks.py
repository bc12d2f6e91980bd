"""What beat does for zones."""

from celery import shared_task
from django.utils import timezone

from dnspanel.wake import wake
from dnspanel.zones import audit_links, edit, store_rrsets
from dnspanel.zones.dnssec import sign

# What waits for a free worker for longer is asked for again.
_LONGEST_WAIT = 60.0


@shared_task
def empty_trash() -> str:
    """Once a day: what nobody wanted back within its time is gone for good."""
    now = timezone.now()
    return f"emptied trash zones={edit.empty_trash(now=now)} keys={sign.forget_deleted_keys(now=now)}"


@shared_task(ignore_result=True)
def link_acts() -> None:
    """Every few seconds: what was done since is in the audit log's chain. Who asked for a check gets one."""
    audit_links.link_new_acts()
    if audit_links.is_check_requested():
        wake(check_audit_chain, lifetime=_LONGEST_WAIT)


@shared_task(ignore_result=True)
def check_audit_chain() -> None:
    """Once a day, and when somebody asks: the whole audit log is read and compared with its chain."""
    now = timezone.now()
    if audit_links.is_check_due(now):
        audit_links.link_new_acts()
        audit_links.check_chain(now=now)


@shared_task(name="dnspanel.zones.tasks.tend_search")
def maintain_search_index() -> str:
    """Now and then: what was written since is sorted into the index that searches use, before anybody waits for it."""
    return f"tended search pages={store_rrsets.sort_in_new_rdata()}"
