"""Celery tasks for imports, exports, comparisons, templates and vanity names.

Running a task twice, late or not at all does no harm. Tasks that wait for another operator's server, or that read a
large file, are in the queue *sources*. The queue *bulk* has only short tasks.
"""

from typing import Any

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from dnspanel.transfer.cutover import server_comparison
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.imports import import_jobs, worker
from dnspanel.transfer.models import CutoverCheck, ExportJob, ImportJob
from dnspanel.transfer.vanity import keep as vanity
from dnspanel.transfer.zone_templates import runs
from dnspanel.wake import wake, wake_each
from dnspanel.zones.models import TemplateRun
from dnspanel.zones.runs import run_turns


@shared_task(ignore_result=True)
def run_import(job_id: int) -> str:
    """Work on an import for one turn (a limited time), in parallel with other workers."""
    turn = worker.work_on_import(job_id)
    if turn.again:
        wake(run_import, job_id)
    return turn.summary


@shared_task(ignore_result=True)
def read_import(job_id: int) -> str:
    """Read an import's source."""
    return worker.read_import(job_id)


@shared_task(ignore_result=True)
def run_export(job_id: int) -> str:
    """Write an export's file."""
    return export_jobs.run_export(job_id)


@shared_task(ignore_result=True)
def run_cutover_check(check_id: int) -> str:
    """Compare an old server with the panel's nodes."""
    return server_comparison.run_check(check_id)


@shared_task(ignore_result=True)
def run_template(run_id: int) -> None:
    """Update zones to a version of a template, for one turn (a limited time)."""
    if runs.work_on_run(run_id):
        wake(run_template, run_id)


@shared_task(ignore_result=True)
def drive_transfers() -> str:
    """Start workers for every job and template run with pending work, in case a wake-up was lost."""
    imports, unread = worker.active_imports(), worker.imports_to_read()
    exports, checks = export_jobs.unfinished_exports(), server_comparison.unfinished_checks()
    wake_each(read_import, unread)
    wake_each(run_import, [job_id for job_id in imports for _ in range(settings.TRANSFER_PROCESSES)])
    wake_each(run_export, exports)
    wake_each(run_cutover_check, checks)
    wake_each(run_template, run_turns.unfinished_ids(TemplateRun))
    return f"imports={imports} unread={unread} exports={exports} checks={checks}"


@shared_task(ignore_result=True)
def keep_addresses() -> str:
    """Update the vanity names' addresses to their nodes' current addresses. This task runs every minute."""
    return f"published={vanity.bring_into_step(now=timezone.now())}"


@shared_task(ignore_result=True)
def forget_old_files() -> str:
    """Delete import and export files that are no longer needed, and imports that are older than KEEP_DAYS."""
    now = timezone.now()
    import_jobs.forget_old_imports(now=now)
    return f"forgot exports={export_jobs.forget_old_exports(now=now)} imports={import_jobs.forget_old_files(now=now)}"


def wake_workers(*, sender: Any, job_id: int, **_: Any) -> None:
    """Wake the job's workers: for an import, all that can share it, and a reader unless the reader sent the signal."""
    if sender is ExportJob:
        wake(run_export, job_id)
    elif sender is CutoverCheck:
        wake(run_cutover_check, job_id)
    else:
        if sender is ImportJob:
            wake(read_import, job_id)
        wake_each(run_import, [job_id] * settings.TRANSFER_PROCESSES)
