"""Actions that people request on imports: create, configure, start, pause, cancel, undo and delete. Verbs.

Each function moves the job from an expected state to the next with one conditional UPDATE. WrongState means that the
job's state has changed since the page was loaded.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.texts import gettext
from dnspanel.transfer import allowed_servers, import_quotas, job_rights
from dnspanel.transfer.documents import SERVER_SET, Document, Options
from dnspanel.transfer.errors import QuotaExceeded, WrongState
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import read, scan
from dnspanel.transfer.models import (
    ACTIVE_STATES,
    ENDED_STATES,
    Action,
    ImportJob,
    ImportPiece,
    ImportZone,
    PieceState,
    SourceKind,
    State,
)
from dnspanel.transfer.signals import work_to_do
from dnspanel.zones.errors import QuotaExceeded as ZoneQuotaExceeded
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Revision, Zone
from dnspanel.zones.plan.deletion_guard import refuse_mass_deletion
from dnspanel.zones.plan.zone_quotas import refuse_zones
from dnspanel.zones.settings.server_sets import default_set

MOST_FORGOTTEN = 20  # in one turn, because each can have a report of millions of rows
CHOICES = ("", "create", "union", "rrsets", "replace", "skip")
# Options that change how zones are read. The other options only change how they are applied.
_READING_OPTIONS = ("ttl", "ttl_least", "ttl_most", "comments", "nameservers", "soa", "signatures")
_UPLOADED = (SourceKind.FILES, SourceKind.CSV, SourceKind.JSON, SourceKind.POWERDNS_DUMP, SourceKind.POWERDNS_LMDB)
# Formats that mostly lack SOA and NS at the apex, which a zone needs.
_PARTIAL = (SourceKind.CSV, SourceKind.JSON)


def default_options(source: str, existing: str = "union") -> Options:
    """Return the options of an import from this kind of source.

    If such sources mostly lack SOA and NS, new zones without these records get the panel's own. The same applies to
    `existing="rrsets"`, because such a source can leave out RRsets that it doesn't replace. Existing zones keep their
    own.
    """
    if source in _PARTIAL or existing == "rrsets":
        return Options(existing=existing, nameservers="missing", soa="missing")
    return Options(existing=existing)


def create_job(  # noqa: PLR0913  # the fields of an import
    *,
    source: str,
    title: str,
    author: Author,
    now: datetime,
    parameters: Mapping[str, Any] | None = None,
    secret: Mapping[str, str] | None = None,
    options: Options | None = None,
    form_id: UUID | None = None,
) -> ImportJob:
    """Create an import, which then waits for its files or starts to read the zones from the source server.

    If the same form is submitted twice, return the first import. Raise Forbidden or ServerRefused if the panel isn't
    allowed to connect to the server for this author, and QuotaExceeded if the author has too many unfinished imports.
    """
    if first := _job_of_form(form_id):
        return first
    allowed_servers.refuse_source(author, source, parameters or {})
    if options is None:
        options = default_options(source)
    with transaction.atomic():
        import_quotas.refuse_import(author)
        job = _create(
            source,
            title,
            author,
            now,
            options,
            form_id,
            parameters=dict(parameters or {}),
            secret=encrypt_secret(json.dumps(dict(secret)).encode()) if secret else None,
        )
    if source not in _UPLOADED:
        start_scan(job=job, now=now)
    return job


def create_paste(  # noqa: PLR0913  # the fields of an import
    *,
    title: str,
    text: bytes,
    zone: str,
    author: Author,
    now: datetime,
    options: Options | None = None,
    form_id: UUID | None = None,
) -> ImportJob:
    """Create an import of one pasted zone file. `zone` is the canonical zone name, or "" if the text contains it."""
    if first := _job_of_form(form_id):
        return first
    documents = [Document(path="pasted text", text=text, zone=zone)]
    return create_of_documents(
        documents=documents,
        source=SourceKind.PASTE,
        title=title,
        author=author,
        now=now,
        options=options,
        form_id=form_id,
    )


def retry_failed(
    *, job: ImportJob, texts: Mapping[int, str], author: Author, now: datetime, form_id: UUID | None = None
) -> ImportJob:
    """Create an import of corrected zones.

    `texts` maps ids of this job's failed ImportZones to corrected zone files. Raise WrongState if none has failed.
    """
    if first := _job_of_form(form_id):
        return first
    rows = {row.pk: row for row in ImportZone.objects.filter(job=job, pk__in=texts, action=Action.FAILED)}
    if not rows:
        raise WrongState(gettext("The selected zones don’t need corrections."))
    documents = []
    for pk, row in sorted(rows.items()):
        original = spool.read_document(spool.spool_path(job.pk, row.piece), row.document_offset)
        documents.append(Document(path=row.path, text=texts[pk].encode(), zone=original.zone or row.name))
    title = f"{job.title}: {len(documents)} corrected"
    return create_of_documents(
        documents=documents,
        source=SourceKind.RETRY,
        title=title,
        author=author,
        now=now,
        options=Options.from_json(job.options),
        retry_of=job,
        form_id=form_id,
    )


def set_parameters(*, job: ImportJob, parameters: Mapping[str, Any], now: datetime) -> None:
    """Set the parameters for reading the job's files, such as the CSV columns."""
    _move(job, (State.UPLOADING,), State.UPLOADING, now, parameters=dict(parameters))
    job.parameters = dict(parameters)


def _job_of_form(form_id: UUID | None) -> ImportJob | None:
    return ImportJob.objects.filter(form_id=form_id).first() if form_id else None


def create_of_documents(  # noqa: PLR0913  # the fields of an import
    *,
    documents: Sequence[Document],
    source: str,
    title: str,
    author: Author,
    now: datetime,
    options: Options | None = None,
    retry_of: ImportJob | None = None,
    form_id: UUID | None = None,
) -> ImportJob:
    """Create an import of these documents. It is scanned immediately.

    Raise QuotaExceeded if the author has reached the quota of unfinished imports or of file bytes.
    """
    options = options or Options()
    with transaction.atomic():
        import_quotas.refuse_import(author)
        import_quotas.refuse_bytes(author, sum(len(document.text) for document in documents), now=now)
        parameters = retry_of.parameters if retry_of else {}
        job = _create(source, title, author, now, options, form_id, parameters=parameters, retry_of=retry_of)
    read.spool_documents(job=job, documents=documents)
    start_scan(job=job, now=now)
    return job


def _create(
    source: str, title: str, author: Author, now: datetime, options: Options, form_id: UUID | None, **fields: Any
) -> ImportJob:
    """Create a job that waits for its files. `fields` are the row's other columns."""
    return ImportJob.objects.create(
        title=title,
        author=user_of(author),
        token=token_of(author),
        created_at=now,
        phase_at=now,
        source=source,
        options=_options_json(options, _team_of(author)),
        state=State.UPLOADING,
        form_id=form_id,
        **fields,
    )


def _options_json(options: Options, team: Team | None) -> dict[str, Any]:
    """Return the options as JSON, with the version of the set of name servers, so that every scan uses the same one."""
    ours = default_set(team.pk if team else None) if {options.nameservers, options.soa} - {"keep"} else None
    return options.to_json() | ({SERVER_SET: [ours.template_id, ours.version]} if ours else {})


def _team_of(author: Author) -> Team | None:
    try:
        return job_rights.team_of_new_zones(author)
    except RightMissing:
        return None


def start_scan(*, job: ImportJob, now: datetime) -> None:
    """Start reading the source. All files of the upload must have arrived."""
    _move(job, (State.UPLOADING,), State.SCANNING, now)


def set_options(*, job: ImportJob, options: Options, now: datetime) -> None:
    """Set the options. If they affect how zones are read, scan again; else decide zones without a choice again."""
    old = Options.from_json(job.options)
    reads_anew = any(getattr(old, name) != getattr(options, name) for name in _READING_OPTIONS)
    stored = options.to_json() | {SERVER_SET: job.options.get(SERVER_SET)}
    with transaction.atomic(durable=True):
        if reads_anew:
            stored = _options_json(options, job_rights.rights_of(job).team)
        next_state = State.SCANNING if reads_anew else State.CHOOSING
        _move(job, (State.CHOOSING, State.PLANNED), next_state, now, options=stored)
        if reads_anew:
            for piece in ImportPiece.objects.filter(job=job).exclude(state=PieceState.SPOOLED):
                scan.forget_scan(piece=piece)
        else:
            _decide_anew(job, ImportZone.objects.filter(job=job, choice=""))


def choose(  # noqa: PLR0913  # one choice, and the filters of a page
    *,
    job: ImportJob,
    choice: str,
    now: datetime,
    ids: Collection[int] | None = None,
    search: str = "",
    faulty: bool = False,
    existing: bool | None = None,
) -> int:
    """Set an action for the zones in `ids`, or else for all matching zones. Return the number of changed zones.

    With the choice "", the job's options decide. Failed and duplicate zones are left out. Raise ValueError for an
    unknown choice. A finished dry run has to be repeated.
    """
    if choice not in CHOICES:
        raise ValueError(choice)
    with transaction.atomic(durable=True):
        _move(job, (State.CHOOSING, State.PLANNED), State.CHOOSING, now)
        zones = ImportZone.objects.filter(job=job)
        zones = (
            zones.filter(pk__in=ids) if ids is not None else matching(zones, search, faulty=faulty, existing=existing)
        )
        zones = zones.exclude(action__in=(Action.FAILED, Action.DUPLICATE))
        count = zones.exclude(choice=choice).count()
        if count:
            pks = list(zones.exclude(choice=choice).values_list("pk", flat=True))
            ImportZone.objects.filter(pk__in=pks).update(choice=choice)
            _decide_anew(job, ImportZone.objects.filter(pk__in=pks))
    return count


def matching(
    zones: "QuerySet[ImportZone]", search: str, *, faulty: bool = False, existing: bool | None = None
) -> "QuerySet[ImportZone]":
    """Return the given zones whose name or file path contains `search`.

    `faulty` selects zones with errors or warnings. `existing` selects zones that exist (True) or don't (False).
    """
    if faulty:
        zones = zones.filter(Q(errors__gt=0) | Q(warnings__gt=0))
    if existing is not None:
        zones = zones.filter(ops_size=0, zone_id__gt=0) if existing else zones.filter(ops_size__gt=0)
    return zones.filter(Q(name__icontains=search) | Q(path__icontains=search)) if search else zones


def _decide_anew(job: ImportJob, zones: "QuerySet[ImportZone]") -> None:
    """Reset the action of these zones, except failed and duplicate ones. Planned pieces wait for another dry run."""
    decided = zones.exclude(action__in=(Action.FAILED, Action.DUPLICATE))
    pieces = list(decided.values_list("piece", flat=True).distinct())
    decided.update(action="", added=0, changed=0, removed=0, values_removed=0)
    ImportPiece.objects.filter(job=job, state=PieceState.PLANNED).update(state=PieceState.SCANNED)
    scan.count_pieces(job.pk, pieces)


def start_plan(*, job: ImportJob, now: datetime) -> None:
    """Start the dry run. It determines the changes that publishing would make."""
    _move(job, (State.CHOOSING,), State.PLANNING, now)


def start_apply(*, job: ImportJob, author: Author, now: datetime) -> None:
    """Start publishing the results of the dry run in the name of `author`.

    Raise QuotaExceeded if the new zones exceed the quota of the author or of the team that will own them.
    """
    _refuse_too_many_zones(job, author)
    _move(job, (State.PLANNED,), State.APPLYING, now, author=user_of(author), token=token_of(author))


def _refuse_too_many_zones(job: ImportJob, author: Author) -> None:
    created = ImportPiece.objects.filter(job=job).aggregate(count=Coalesce(Sum("creates"), 0))["count"]
    if not created:
        return
    try:
        with transaction.atomic():
            refuse_zones(author, job_rights.team_of_new_zones(author), created)
    except ZoneQuotaExceeded as exc:
        raise QuotaExceeded(gettext("{exc} Nothing was imported.").format(exc=exc)) from exc
    except RightMissing:
        return  # the author cannot create zones at all; these zones are marked as waiting with the reason


def replan_waiting(*, job: ImportJob, now: datetime) -> None:
    """Start another dry run for the zones that couldn't be published as planned and are waiting.

    Raise WrongState if the import isn't done or doesn't have waiting zones. Raise QuotaExceeded if the author has
    reached the quota of unfinished imports.
    """
    with transaction.atomic(durable=True):
        import_quotas.refuse_import(job_rights.actor_of_job(job))
        _move(job, (State.DONE,), State.PLANNING, now, ended_at=None)
        pieces = list(
            ImportZone.objects.filter(job=job, action=Action.WAITING).values_list("piece", flat=True).distinct()
        )
        if not pieces:
            raise WrongState(gettext("This import doesn’t have any waiting zones."))
        ImportZone.objects.filter(job=job, action=Action.WAITING).update(action="")
        ImportPiece.objects.filter(job=job, number__in=pieces).update(state=PieceState.SCANNED)
        scan.count_pieces(job.pk, pieces)


def pause(*, job: ImportJob, now: datetime) -> None:
    """Pause the import. Workers still finish their current pieces. Raise WrongState if the import isn't running."""
    if not ImportJob.objects.filter(pk=job.pk, state__in=ACTIVE_STATES).update(paused=True):
        raise WrongState(gettext("This import isn’t running."))


def resume(*, job: ImportJob, now: datetime) -> None:
    """Resume the import after a pause or a failure. Raise WrongState if the import isn't in one of ACTIVE_STATES."""
    if not ImportJob.objects.filter(pk=job.pk, state__in=ACTIVE_STATES).update(paused=False, failure=""):
        raise WrongState(gettext("This import is not paused."))
    work_to_do.send(sender=ImportJob, job_id=job.pk)


def cancel(*, job: ImportJob, now: datetime) -> None:
    """Cancel the import. Raise WrongState if it has ended or is being undone.

    Workers still finish their current pieces. Published zones stay, and can still be undone.
    """
    states = [state for state in State if state not in ENDED_STATES and state != State.UNDOING]
    _move(job, states, State.CANCELLED, now, ended_at=now, secret=None)


def start_undo(*, job: ImportJob, author: Author, now: datetime, confirmed: bool = False) -> None:
    """Start to undo everything that this import published, except data that has changed since then.

    Raise RightMissing if the author isn't allowed to undo all zones of the import. Raise MassDeletion if the undo would
    delete many zones and isn't `confirmed`.
    """
    job_rights.refuse_undo(job, author)
    if not confirmed:
        created = created_zones(job)
        refuse_mass_deletion(author=author, count=created.count(), now=now, zones=created)
    people = {"author": user_of(author), "token": token_of(author)}
    _move(job, (State.DONE, State.CANCELLED), State.UNDOING, now, ended_at=None, **people)


def created_zones(job: ImportJob) -> "QuerySet[Zone]":
    """Return the zones that the import created and that still exist. Undoing the import deletes them."""
    created = ImportPiece.objects.filter(job=job, created_undone_in=None).exclude(created_in=None).values("created_in")
    revisions = Revision.objects.filter(publication__in=created)
    return Zone.objects.filter(pk__in=revisions.values("zone"), deleted_at=None)


def delete_job(*, job: ImportJob) -> None:
    """Delete the import and its files, but not its published zones. Raise WrongState if the import is running."""
    if not ImportJob.objects.filter(pk=job.pk).exclude(state__in=ACTIVE_STATES).delete()[0]:
        raise WrongState(gettext("This import is running. Cancel it first."))
    spool.remove_files(job.pk)


def _move(job: ImportJob, expected: Collection[str], state: str, now: datetime, **fields: Any) -> None:
    if (where := audit.origin()).request_id:
        fields |= {"address": where.address, "request_id": where.request_id, "session": where.session_of()}
    moved = ImportJob.objects.filter(pk=job.pk, state__in=expected).update(
        state=state, phase_at=now, phase_begun=False, paused=False, failure="", **fields
    )
    if not moved:
        job.refresh_from_db()
        raise WrongState(
            gettext("This isn’t possible in the import’s current state: {get_state_display}.").format(
                get_state_display=job.get_state_display()
            )
        )
    job.state, job.phase_at, job.paused = state, now, False
    if state in ACTIVE_STATES:
        transaction.on_commit(lambda: work_to_do.send(sender=ImportJob, job_id=job.pk), robust=True)


def forget_old_imports(*, now: datetime) -> int:
    """Delete up to MOST_FORGOTTEN imports that ended before KEEP_DAYS, with their reports. Return their number."""
    days = settings.KEEP_DAYS["imports"]
    ended = ImportJob.objects.filter(state__in=ENDED_STATES, ended_at__lt=now - timedelta(days=days))
    old = list(ended[:MOST_FORGOTTEN]) if days else []
    for job in old:
        delete_job(job=job)
    return len(old)


def forget_old_files(*, now: datetime) -> int:
    """Delete the files of imports that were deleted or that ended over KEPT_DAYS ago. Return the number of imports.

    The imports' reports stay. Undoing an import remains possible, because it doesn't need the files.
    """
    recent = Q(ended_at=None) | Q(ended_at__gt=now - timedelta(days=import_quotas.KEPT_DAYS))
    directories = [path for path in spool.import_directory(0).parent.glob("*") if path.name.isdigit()]
    on_disk = {int(path.name) for path in directories}
    old = on_disk - set(ImportJob.objects.filter(recent, pk__in=on_disk).values_list("pk", flat=True))
    for job_id in old:
        spool.remove_files(job_id)
    return len(old)
