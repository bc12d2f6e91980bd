"""Celery tasks for zones, scheduled or woken by signals."""

from celery import shared_task
from django.utils import timezone

from dnspanel.wake import wake, wake_each
from dnspanel.zones.audit import audit_links, prune_links
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.drafts.discarded import forget_discarded
from dnspanel.zones.models import ChangeRun, PolicyRun
from dnspanel.zones.publishing import edit, expiry
from dnspanel.zones.requests import publish_requests
from dnspanel.zones.runs import change_runs, policy_runs, run_turns
from dnspanel.zones.search import texts_upkeep
from dnspanel.zones.signing import automatic, due_denial, paused_denial, sign
from dnspanel.zones.store import waiting_entries

# After this time, a worker is woken again for work that is still waiting.
_LONGEST_WAIT = 60.0


@shared_task
def empty_trash() -> str:
    """Permanently delete old zones in the trash, deleted keys' private parts, and discarded drafts. Runs once a day."""
    now = timezone.now()
    zones, keys = edit.empty_trash(now=now), sign.forget_deleted_keys(now=now)
    return f"emptied trash zones={zones} keys={keys} drafts={forget_discarded(now=now)}"


@shared_task
def prune_log() -> str:
    """Remove history and audit entries that are older than KEEP_DAYS. Runs every hour."""
    return prune_links.prune(now=timezone.now())


@shared_task(ignore_result=True)
def link_acts() -> None:
    """Add new actions to the audit log's chain, and start a check of the chain if requested. Runs every few seconds."""
    audit_links.link_new_acts()
    if audit_links.is_check_requested():
        wake(check_audit_chain, lifetime=_LONGEST_WAIT)


@shared_task(ignore_result=True)
def check_audit_chain() -> None:
    """Check the whole audit log against its chain. Runs once a day, and on request."""
    now = timezone.now()
    if audit_links.is_check_due(now):
        audit_links.link_new_acts()
        audit_links.check_chain(now=now)


@shared_task(name="dnspanel.zones.tasks.tend_search")
def maintain_search_index() -> str:
    """Merge pending entries into the search indexes, so that searches don't scan these entries. Runs regularly."""
    return f"tended search pages={waiting_entries.sort_in(waiting_entries.RDATA + waiting_entries.NAMES_AND_TEXTS)}"


@shared_task(ignore_result=True)
def follow_in_search() -> None:
    """Update the search texts for new publications. Runs every few seconds."""
    if texts_upkeep.catch_up(now=timezone.now()) >= texts_upkeep.ZONES_OF_A_TURN:
        wake(follow_in_search)


@shared_task(ignore_result=True)
def look_at_what_is_published() -> None:
    """Check newly published RRsets, and store complaints so that users can search for them. Runs every few seconds."""
    if complaints_upkeep.catch_up(now=timezone.now()) >= complaints_upkeep.RRSETS_OF_A_TURN:
        wake(look_at_what_is_published)


@shared_task(ignore_result=True)
def resume_denial() -> None:
    """Complete changes to NSEC or NSEC3 that a killed process left paused or unfinished. Runs every minute."""
    paused_denial.resume_forgotten(now=timezone.now())
    due_denial.carry_out_due(now=timezone.now())


@shared_task(ignore_result=True)
def publish_due() -> None:
    """Publish the changes of publish requests that are due. Runs every ten seconds."""
    publish_requests.publish_due(now=timezone.now())


@shared_task(ignore_result=True)
def remove_expired() -> None:
    """Remove RRsets that have expired. Runs every 30 seconds."""
    expiry.remove_due(now=timezone.now())


@shared_task(ignore_result=True)
def run_policies(run_id: int) -> None:
    """Process batches of a DNSSEC policy run for one turn. If batches are left, schedule the next turn."""
    if policy_runs.work_on_run(run_id, begin_rollover=automatic.begin_rollover):
        wake(run_policies, run_id)


@shared_task(ignore_result=True)
def run_changes(run_id: int) -> None:
    """Process batches of a run that changes many zones, for one turn. If batches are left, schedule the next turn."""
    if change_runs.work_on_run(run_id):
        wake(run_changes, run_id)


@shared_task(ignore_result=True)
def drive_runs() -> None:
    """Wake a worker for each run over many zones, in case a wake-up was lost. Runs every few seconds."""
    wake_each(run_policies, run_turns.unfinished_ids(PolicyRun))
    wake_each(run_changes, run_turns.unfinished_ids(ChangeRun))
