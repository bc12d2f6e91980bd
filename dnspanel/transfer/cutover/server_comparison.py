"""Create, cancel and run comparisons of an old server with the panel's nodes. Verbs.

Zones are read, compared and recorded in batches. DNS queries are never sent inside a transaction. If a worker dies, the
next one continues after the last recorded zone.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Actor, Permission, token_of, user_of
from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.database.database_away import is_away
from dnspanel.database.first_rows import first_or
from dnspanel.fleet.models import Node, NodeState
from dnspanel.texts import gettext
from dnspanel.transfer import allowed_servers, import_limits, job_rights, places
from dnspanel.transfer.cutover import compare_answers, delegation_checklist, dns_probe
from dnspanel.transfer.cutover.compare_answers import Difference
from dnspanel.transfer.cutover.dns_probe import Answer, Question, Server
from dnspanel.transfer.cutover.parent_servers import Resolver
from dnspanel.transfer.errors import SourceAway, TransferError, WrongState
from dnspanel.transfer.exports.exported_rows import Row, read_zones
from dnspanel.transfer.exports.exported_zones import EVERYTHING, Selection
from dnspanel.transfer.models import (
    CHANGING_ACTIONS,
    EXPECTED_KINDS,
    Action,
    CutoverCheck,
    CutoverDifference,
    CutoverZone,
    ImportJob,
    ImportZone,
)
from dnspanel.transfer.signals import work_to_do
from dnspanel.zones.errors import Forbidden, Unknown
from dnspanel.zones.models import UNFINISHED_STATES, RunState, Zone
from dnspanel.zones.rights import access
from replication.dns import rdtypes

MOST_UNFINISHED = 2  # per person
MOST_KEPT = 100_000  # differences per comparison; the rest is only counted
# A batch of zones has about this many RRsets. A zone with more than MOST_RRSETS is left out.
_RRSETS_AT_ONCE = 2_000
MOST_RRSETS = 200_000
_ZONES_AT_ONCE = 200
_PARENTS_AT_ONCE = 16

logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """Raised when a person has cancelled the comparison."""


@dataclass(frozen=True, slots=True)
class _Sides:
    old: Server
    nodes: Sequence[Server]
    resolver: Resolver


@dataclass(frozen=True, slots=True)
class _Read:
    name: str
    rows: Sequence[Row]
    questions: Sequence[Question]


def create_check(  # noqa: PLR0913  # the fields of a check
    *,
    server: str,
    port: int,
    author: User | Actor,
    now: datetime,
    job: ImportJob | None = None,
    selection: Selection = EVERYTHING,
    resolver: str = "",
    resolver_port: int = 53,
) -> CutoverCheck:
    """Create a comparison of an import's zones or of a selection. A worker runs it.

    Raise ServerRefused for an address that the panel isn't allowed to contact. Raise WrongState if the person has too
    many unfinished comparisons, or if no node is active.
    """
    allowed_servers.refuse_dns_server("server", server, port, port_field="port")
    if resolver:
        allowed_servers.refuse_dns_server("resolver", resolver, resolver_port, port_field="resolver_port")
    if not Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).exists():
        raise WrongState(gettext("No active node found to compare with the old server."))
    with transaction.atomic(durable=True):
        unfinished = CutoverCheck.objects.filter(author=user_of(author), state__in=UNFINISHED_STATES)
        if unfinished.count() >= MOST_UNFINISHED:
            raise WrongState(
                gettext("You already have {most_unfinished} unfinished comparisons.").format(
                    most_unfinished=MOST_UNFINISHED
                )
            )
        check = CutoverCheck.objects.create(
            author=user_of(author),
            token=token_of(author),
            created_at=now,
            job=job,
            selection=selection.to_json(),
            server=server,
            port=port,
            resolver=resolver,
            resolver_port=resolver_port,
        )
        transaction.on_commit(lambda: work_to_do.send(sender=CutoverCheck, job_id=check.pk), robust=True)
    return check


def check_for(person: access.Person, pk: int) -> CutoverCheck:
    """Return this comparison. Raise Forbidden if the person can't edit zones, Unknown if they can't see it."""
    access.require(person, Permission.EDIT)
    return first_or(job_rights.checks_visible_to(person).filter(pk=pk), lambda: Unknown(f"comparison {pk}"))


def cancel_check(*, check: CutoverCheck, by: User | Actor, now: datetime) -> None:
    """Cancel a comparison, but keep its results. Raise the errors of `check_for`, or WrongState if it has ended."""
    check_for(by, check.pk)
    if not _unfinished_check(check.pk).update(state=RunState.CANCELLED, ended_at=now):
        raise WrongState(gettext("This comparison has already ended."))


def unfinished_checks() -> list[int]:
    """Return the ids of unfinished comparisons."""
    return list(CutoverCheck.objects.filter(state__in=UNFINISHED_STATES).order_by("pk").values_list("pk", flat=True))


def run_check(check_id: int, *, parent_port: int = 53) -> str:
    """Compare every zone of the comparison, and return a summary for the log.

    An error is stored as the comparison's failure, except if PostgreSQL is unreachable. Unexpected errors are also
    raised. Do nothing if the comparison has ended, another worker runs it, or too many workers read servers for its
    author.
    """
    author_id = _unfinished_check(check_id).values_list("author", flat=True).first()
    if not places.may_read(author_id):
        return f"comparison={check_id}: other servers are being asked for its author"
    with hold_lock(Lock.COMPARISON, check_id) as is_mine:
        check = _unfinished_check(check_id).select_related("author", "token").first()
        if check is None or not is_mine:
            return f"comparison={check_id}: {'nothing to do' if check is None else 'another worker is at it'}"
        started = time.monotonic()
        try:
            _compare(check, parent_port)
        except _Stopped:
            return f"comparison={check_id} cancelled"
        except Exception as exc:
            if isinstance(exc, DatabaseError) or is_away(exc):
                raise  # PostgreSQL is unreachable; the comparison is retried later
            message = (
                str(exc)
                if isinstance(exc, TransferError | Forbidden)
                else gettext("Internal error: {fault}").format(fault=repr(exc))
            )
            _unfinished_check(check_id).update(state=RunState.FAILED, ended_at=timezone.now(), failure=message)
            if not isinstance(exc, TransferError | Forbidden):
                raise
            return f"comparison={check_id} failed: {exc}"
        _unfinished_check(check_id).update(state=RunState.DONE, ended_at=timezone.now())
        logger.info("compared comparison=%s seconds=%.1f", check_id, time.monotonic() - started)
        return f"comparison={check_id} done"


def zones_of(check: CutoverCheck) -> "QuerySet[Zone]":
    """Return the zones of a comparison that its author is allowed to see."""
    author = job_rights.actor_of_job(check)
    zones = Zone.objects.none() if author is None else access.zones_visible_to(author)
    if check.job_id is None:
        return Selection.from_json(check.selection).among(zones)
    imported = ImportZone.objects.filter(
        job=check.job_id, action__in=(Action.CREATE, *CHANGING_ACTIONS, Action.NOTHING)
    )
    return zones.filter(name__in=imported.values("name"))


def _sides(check: CutoverCheck, parent_port: int) -> _Sides:
    """Return the servers of a comparison, after checking their addresses again.

    Raise ServerRefused if an address isn't allowed, and Forbidden if the author's account or token is no longer valid.
    """
    allowed_servers.refuse_dns_server("", check.server, check.port, port_field="")
    if check.resolver:
        allowed_servers.refuse_dns_server("", check.resolver, check.resolver_port, port_field="")
    found = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).order_by("name")
    nodes = [Server(node.name, node.dns_address, node.dns_port) for node in found]
    ours = {node.address for node in nodes}
    is_described = allowed_servers.may_read_servers(job_rights.actor_of_job(check))
    called = gettext("{host} port {port}").format(host=check.server, port=check.port)
    old = Server(called, check.server, check.port, is_described=is_described)
    resolver = Resolver(
        check.resolver,
        check.resolver_port,
        parent_port=parent_port,
        allows=lambda address: address in ours or allowed_servers.is_allowed(address),
    )
    return _Sides(old, nodes, resolver)


def _compare(check: CutoverCheck, parent_port: int) -> None:
    zones, sides = zones_of(check), _sides(check, parent_port)
    last = CutoverZone.objects.filter(check_run=check).order_by("name").values_list("name", flat=True).last()
    total = zones.count()
    if not _unfinished_check(check.pk).update(
        state=RunState.RUNNING, zones_total=total, started_at=check.started_at or timezone.now()
    ):
        raise _Stopped
    until = time.monotonic() + import_limits.MOST_READ_SECONDS
    for batch in _batches(zones.filter(name__gt=last or "")):
        if time.monotonic() > until:
            raise SourceAway(
                gettext("The comparison didn’t finish within {value:g} hours.").format(
                    value=import_limits.MOST_READ_SECONDS / 3600
                )
            )
        _compare_batch(check, sides, batch)


def _batches(zones: "QuerySet[Zone]") -> Iterator[list[_Read]]:
    """Yield the zones in batches, sorted by name. Zones with more than MOST_RRSETS RRsets are skipped."""
    after = ""
    while True:
        found = list(zones.filter(name__gt=after).order_by("name").values_list("name", "rrset_count")[:_ZONES_AT_ONCE])
        if not found:
            return
        chosen: list[str] = []
        rrsets = 0
        for name, count in found:
            if chosen and rrsets + count > _RRSETS_AT_ONCE:
                break
            rrsets += count
            chosen.append(name)
        after = chosen[-1]
        yield _read(zones.filter(name__in=chosen, rrset_count__lte=MOST_RRSETS))


def _read(zones: "QuerySet[Zone]") -> list[_Read]:
    with transaction.atomic():
        connection.ensure_connection()
        found = []
        for zone in read_zones(connection.connection, zones):
            rows = list(zone.rows)
            found.append(_Read(zone.name, rows, compare_answers.questions_of(zone.name, rows)))
        return found


def _compare_batch(check: CutoverCheck, sides: _Sides, batch: Sequence[_Read]) -> None:
    """Compare these zones and record the results. Raise SourceAway if the old server doesn't answer for any of them."""
    queries = [(zone.name, zone.questions) for zone in batch]
    differences = list(compare_answers.compare_zones(queries, sides.old, sides.nodes))
    [soas] = dns_probe.ask([sides.old], [(zone.name, rdtypes.SOA) for zone in batch])
    if batch and all(answer.rcode is None for answer in soas):
        raise SourceAway(
            gettext("{name} didn’t respond: {failure}.").format(name=sides.old.name, failure=soas[0].failure)
        )
    now = timezone.now()
    counts = Counter((each.zone, each.kind in EXPECTED_KINDS) for each in differences)
    with ThreadPoolExecutor(_PARENTS_AT_ONCE) as pool:
        rows = list(pool.map(lambda zone, soa: _zone_row(check, sides, zone, soa, counts, now), batch, soas))
    with transaction.atomic(durable=True):
        _record(check, batch, rows, differences)


def _zone_row(
    check: CutoverCheck, sides: _Sides, zone: _Read, soa: Answer, counts: Counter[tuple[str, bool]], now: datetime
) -> CutoverZone:
    both_sides = delegation_checklist.Sides(zone.name, zone.rows, soa, counts[zone.name, False])
    points = delegation_checklist.checklist(both_sides, sides.nodes, sides.resolver, now)
    return CutoverZone(
        check_run=check,
        name=zone.name,
        questions=len(zone.questions),
        differences=counts[zone.name, False],
        expected=counts[zone.name, True],
        checklist=[point.to_json() for point in points],
        open_points=sum(point.verdict == delegation_checklist.Verdict.TO_DO for point in points),
    )


def _record(
    check: CutoverCheck, batch: Sequence[_Read], rows: Sequence[CutoverZone], differences: Sequence[Difference]
) -> None:
    expected = sum(each.kind in EXPECTED_KINDS for each in differences)
    moved = _unfinished_check(check.pk).update(
        zones=F("zones") + len(rows),
        questions=F("questions") + sum(len(zone.questions) for zone in batch),
        differences=F("differences") + len(differences) - expected,
        expected=F("expected") + expected,
    )
    if not moved:
        raise _Stopped
    CutoverZone.objects.bulk_create(rows)
    room = MOST_KEPT - CutoverDifference.objects.filter(check_run=check).count()
    CutoverDifference.objects.bulk_create(
        [CutoverDifference(check_run=check, **asdict(each)) for each in differences[: max(0, room)]], batch_size=2000
    )


def _unfinished_check(check_id: int) -> "QuerySet[CutoverCheck]":
    return CutoverCheck.objects.filter(pk=check_id, state__in=UNFINISHED_STATES)
