"""Create, cancel and run exports, and delete their files after a day. Verbs.

People create exports, and workers write them. The job's row stores the request and the progress. The file has its final
name only when it is complete. If a worker dies, the next one writes the file from the beginning.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Author, Person, Right, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.advisory_locks import Lock, try_lock_until_commit
from dnspanel.database.database_away import is_away
from dnspanel.texts import gettext
from dnspanel.transfer import job_rights, places
from dnspanel.transfer.errors import PassphraseRefused, WrongState
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_rows import snapshot, zone_names
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.exports.query_file import QueryOptions
from dnspanel.transfer.models import ExportFormat, ExportJob
from dnspanel.transfer.sealed_keys import Sealer, refuse_passphrase
from dnspanel.transfer.signals import work_to_do
from dnspanel.zones.errors import Forbidden, RightMissing, Unknown
from dnspanel.zones.models import UNFINISHED_STATES, RunState, Zone
from dnspanel.zones.rights.access import zones_visible_to

KEPT = timedelta(hours=24)
MOST_UNFINISHED = 3  # per person, because exports and imports share the workers for bulk work
_TOLD_SECONDS = 0.5

logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """Raised when a person has cancelled the export."""


def exports_directory() -> Path:
    """Return the directory of the exported files."""
    return Path(settings.TRANSFER_DIR) / "exports"


def export_path(job: ExportJob) -> Path:
    """Return the file path of a finished export."""
    return exports_directory() / f"{job.pk}.{export_file.suffix(job.format)}.gz"


def create_export(
    *,
    selection: Selection,
    export_format: str,
    author: Author,
    now: datetime,
    options: QueryOptions | None = None,
    keys_passphrase: str = "",
) -> ExportJob:
    """Create an export, which a worker then writes. If `author` is None, the panel itself exports any zones.

    With a passphrase, the export includes the private DNSSEC keys, sealed with the passphrase. The passphrase is stored
    encrypted until the export ends.

    Raise WrongState if the author has too many unfinished exports, or Forbidden if the author's token can see only
    parts of zones. With a passphrase, raise RightMissing if the author can't export the keys of every zone, or
    PassphraseRefused if the passphrase is weak or the format isn't JSON.
    """
    job_rights.refuse_partial_visibility(author)
    if keys_passphrase:
        if export_format != ExportFormat.JSON:
            raise PassphraseRefused(gettext("Private keys can be exported only as JSON."))
        refuse_passphrase(keys_passphrase)
        hidden = job_rights.zones_with_hidden_keys(selection.among(_zones_of(author)), author)
        _refuse_keys(hidden.order_by("name").values_list("name", flat=True).first())
    where = audit.origin()
    unfinished = ExportJob.objects.filter(author=user_of(author), state__in=UNFINISHED_STATES)
    with transaction.atomic(durable=True):
        if author is not None and unfinished.count() >= MOST_UNFINISHED:
            raise WrongState(
                gettext(
                    "You already have {most_unfinished} unfinished exports. Wait until one of them ends, or cancel one."
                ).format(most_unfinished=MOST_UNFINISHED)
            )
        job = ExportJob.objects.create(
            author=user_of(author),
            token=token_of(author),
            address=where.address,
            request_id=where.request_id,
            session=where.session_of(),
            created_at=now,
            format=ExportFormat(export_format),
            selection=selection.to_json(),
            options=(options or QueryOptions()).to_json() if export_format == ExportFormat.QUERIES else {},
            secret=encrypt_secret(keys_passphrase.encode()) if keys_passphrase else None,
        )
        transaction.on_commit(lambda: work_to_do.send(sender=ExportJob, job_id=job.pk), robust=True)
    return job


def cancel_export(*, job: ExportJob, now: datetime) -> None:
    """Cancel an unfinished export. Raise WrongState if the export has already ended."""
    if not _unfinished_job(job.pk).update(state=RunState.CANCELLED, ended_at=now, secret=None):
        raise WrongState(gettext("This export has already ended."))


def open_file(*, job: ExportJob, person: Person) -> BinaryIO:
    """Open the file of an export. Raise Unknown if the export isn't done, or if its file was deleted.

    For an export with keys, the person must still have the right to export the keys of every exported zone. Otherwise
    raise RightMissing, or Unknown if the person no longer sees such a zone.
    """
    try:
        if job.state != RunState.DONE or job.forgotten_at is not None:
            raise FileNotFoundError
        hidden = job_rights.zone_without_key_export(job.keyed_zones, person) if job.keys else None
        if hidden is not None:
            if not zones_visible_to(person).filter(pk=hidden.pk).exists():
                raise FileNotFoundError
            _refuse_keys(hidden.name)
        return export_path(job).open("rb")
    except FileNotFoundError:
        raise Unknown(f"file of export {job.pk}") from None


def unfinished_exports() -> list[int]:
    """Return the ids of unfinished exports."""
    return list(ExportJob.objects.filter(state__in=UNFINISHED_STATES).order_by("pk").values_list("pk", flat=True))


def run_export(job_id: int) -> str:
    """Write the export, unless it has ended, is being written or has to wait. Return a summary for the log.

    An error is stored as the export's failure, except if PostgreSQL is unreachable. Unexpected errors are also raised.
    """
    job = _unfinished_job(job_id).select_related("author", "token").first()
    if job is None:
        return f"export={job_id}: nothing to do"
    if not places.may_compute(job.author_id):
        return f"export={job_id}: the turn of others"
    try:
        with snapshot() as conn:
            if not try_lock_until_commit(conn, Lock.EXPORT, job_id):
                return f"export={job_id}: another worker is at it"
            return _write(conn, job)
    except _Stopped:
        return f"export={job_id} cancelled"
    except Exception as exc:
        if isinstance(exc, DatabaseError) or is_away(exc):
            raise  # PostgreSQL is unreachable; the export is retried later
        failed = {"state": RunState.FAILED, "ended_at": timezone.now(), "failure": _failure_message(exc)}
        _unfinished_job(job_id).update(**failed, secret=None)
        if not isinstance(exc, OSError | Forbidden):
            raise
        return f"export={job_id} failed: {exc}"


def forget_old_exports(*, now: datetime) -> int:
    """Delete the files of failed, cancelled and day-old exports, and files without an export. Return their number."""
    ExportJob.objects.filter(ended_at__lt=now - KEPT, forgotten_at=None).update(forgotten_at=now)
    if not exports_directory().is_dir():
        return 0
    kept = ExportJob.objects.filter(state__in=(*UNFINISHED_STATES, RunState.DONE), forgotten_at=None)
    kept_ids = {str(pk) for pk in kept.values_list("pk", flat=True)}
    gone = [path for path in exports_directory().iterdir() if path.name.partition(".")[0] not in kept_ids]
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)


def _unfinished_job(job_id: int) -> "QuerySet[ExportJob]":
    return ExportJob.objects.filter(pk=job_id, state__in=UNFINISHED_STATES)


def zones_of(job: ExportJob) -> "QuerySet[Zone]":
    """Return the zones of the export that its author is allowed to see."""
    return Selection.from_json(job.selection).among(_zones_of(job_rights.actor_of_job(job)))


def _zones_of(author: Author) -> "QuerySet[Zone]":
    return Zone.objects.filter(deleted_at=None) if author is None else zones_visible_to(author)


def _refuse_keys(zone_name: str | None) -> None:
    if zone_name is not None:
        raise RightMissing(Right.EXPORT_KEYS, zone_name)


def _sealer_of(conn: "psycopg.Connection[Any]", job: ExportJob, zones: "QuerySet[Zone]") -> Sealer | None:
    """Return the sealer for the export's private keys, or None if the export doesn't include keys.

    Raise RightMissing if the snapshot contains a zone whose keys the author isn't allowed to export.
    """
    if job.secret is None:
        return None
    hidden = job_rights.zones_with_hidden_keys(zones, job_rights.actor_of_job(job))
    _refuse_keys(next(zone_names(conn, hidden), None))
    return Sealer(decrypt_secret(job.secret).decode())


def _write(conn: "psycopg.Connection[Any]", job: ExportJob) -> str:
    now = timezone.now()
    zones = zones_of(job)
    begun = _unfinished_job(job.pk).update(
        state=RunState.RUNNING, started_at=now, zones_total=zones.count(), zones=0, records=0
    )
    if not begun:
        raise _Stopped
    sealer = _sealer_of(conn, job, zones)
    with _file(export_path(job)) as file:
        out = export_file.Gzip(file, int(now.timestamp()))
        tally = export_file.write_export(
            conn,
            zones,
            out,
            export_format=job.format,
            mtime=int(now.timestamp()),
            options=QueryOptions.from_json(job.options),
            sealer=sealer,
            watch=_teller(job.pk),
        )
        out.close()
        size = file.tell()
    ended = timezone.now()
    if not _finish(job, tally, size, with_keys=sealer is not None, now=ended):
        export_path(job).unlink(missing_ok=True)
        raise _Stopped
    seconds = (ended - now).total_seconds()
    logger.info("exported export=%s zones=%s records=%s seconds=%.1f", job.pk, tally.zones, tally.records, seconds)
    return f"export={job.pk} zones={tally.zones} records={tally.records}"


def _finish(job: ExportJob, tally: export_file.Tally, size: int, *, with_keys: bool, now: datetime) -> bool:
    """Mark the export as done, and record exported keys in the audit log. Return False if it was cancelled first."""
    counts = {"zones": tally.zones, "records": tally.records, "keys": tally.keys, "size": size}
    keyed = {"keyed_zones": tally.keyed}
    with transaction.atomic(durable=True), audit.coming_from(audit.origin_of(job)):
        done = _unfinished_job(job.pk).update(state=RunState.DONE, ended_at=now, secret=None, **counts, **keyed)
        if done and with_keys:
            by = job_rights.actor_of_job(job)
            audit.record(action="dnssec.keys_export", by=by, now=now, target=f"export {job.pk}", keys=tally.keys)
    return bool(done)


def _teller(job_id: int) -> Any:
    """Return a function that records progress twice a second and raises _Stopped if the export has been cancelled."""
    told_at = time.monotonic()

    def tell(tally: export_file.Tally) -> None:
        nonlocal told_at
        if time.monotonic() - told_at < _TOLD_SECONDS:
            return
        told_at = time.monotonic()
        if not _unfinished_job(job_id).update(zones=tally.zones, records=tally.records):
            raise _Stopped

    return tell


@contextmanager
def _file(path: Path) -> Iterator[Any]:
    """Open a new file. It gets its final name only when it is complete and synced to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def _failure_message(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return gettext("The export file can’t be written: {reason}.").format(reason=exc.strerror)
    if isinstance(exc, Forbidden):
        return str(exc)
    return gettext("The export failed because of an internal error: {kind}: {reason}").format(
        kind=exc.__class__.__name__, reason=exc
    )
