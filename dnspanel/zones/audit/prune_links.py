"""Remove old acts from the audit log, in bounded steps, and keep the chain verifiable. Verbs.

Consecutive links whose acts are removed become one link of the kind PRUNED:

    number  of the last removed link       chain    its hash, with which the following link continues
    ref     number of the first one        content  the hash before the first one
    parts   {"entry": id} of the audit entry that recorded the removal: {"ranges": [[first, last, hash], …]}

That entry is an act of the chain too. So an attacker cannot remove acts without leaving an entry, which destinations of
the audit log get as well. Entries about removals are never removed.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.zones.audit.audit_chain import ENTRY, PRUNED, PUBLICATION, first_hash
from dnspanel.zones.log.prune_history import HISTORY_PRUNED, merge_step, prune_step, sequence_before
from dnspanel.zones.models import AuditLink, Channel, LogHead, Publication, Revision

FOLDED = "audit.prune"
LINKS_OF_A_STEP = 500
# The most steps of a turn, for each kind. The next turn continues.
STEPS_OF_A_TURN = 200

# Functions that return the number up to which a reader of the chain has read, or None if there is no such reader.
_readers: list[Callable[[], int | None]] = []


def register_reader(read_to: Callable[[], int | None]) -> None:
    """Register a reader of the chain. Links that it has not read yet are not removed."""
    _readers.append(read_to)


def prune(*, now: datetime) -> str:
    """Remove what is older than KEEP_DAYS, up to a limit, and return a summary. Only one worker does this at a time."""
    days = settings.KEEP_DAYS
    with hold_lock(Lock.AUDIT_CHAIN) as is_mine:
        if not is_mine:
            return "another worker extends or prunes the chain"
        history = _sequence_of(days["history"], now)
        dynamic = max(history, _sequence_of(days["dynamic"], now))
        merged = _turn(lambda after: merge_step(after=after, up_to=dynamic, now=now))
        pruned = _turn(lambda after: prune_step(after=after, up_to=history, now=now))
        old = Q(at__lt=now - timedelta(days=days["audit"])) if days["audit"] else Q(pk__in=[])
        found = list(_removable(old, dynamic)[: LINKS_OF_A_STEP * STEPS_OF_A_TURN])
        for start in range(0, len(found), LINKS_OF_A_STEP):
            fold_step(numbers=found[start : start + LINKS_OF_A_STEP], now=now)
    return f"pruned steps merged={merged} history={pruned} links={len(found)}"


def fold_step(*, numbers: Sequence[int], now: datetime) -> None:
    """Remove the acts of these links, and fold the links, together with folded neighbors, into one for each run."""
    neighbors = Q(number__in=[number - 1 for number in numbers]) | Q(ref__in=[number + 1 for number in numbers])
    with transaction.atomic(durable=True):
        links = AuditLink.objects.filter(Q(number__in=numbers) | Q(neighbors, kind=PRUNED)).order_by("number")
        runs: list[list[AuditLink]] = []
        for link in links:
            if not runs or runs[-1][-1].number + 1 != _first_number(link):
                runs.append([])
            runs[-1].append(link)
        _fold(runs, now)


def _turn(step: Callable[[int], int | None]) -> int:
    after = 0
    for done in range(STEPS_OF_A_TURN):
        following = step(after)
        if following is None:
            return done
        after = following
    return STEPS_OF_A_TURN


def _sequence_of(days: float, now: datetime) -> int:
    return sequence_before(now - timedelta(days=days)) if days else 0


def _removable(old: Q, dynamic: int) -> "QuerySet[AuditLink, int]":
    """Return the numbers of links with acts in `old`, or with dynamic updates up to a sequence. All readers have them.

    Publications with revisions are not removed, nor the last one.
    """
    read = [number for number in (read_to() for read_to in _readers) if number is not None]
    entries = AuditEntry.objects.filter(old).exclude(action__in=(FOLDED, HISTORY_PRUNED))
    updates = Q(channel=Channel.DYNAMIC_UPDATE, sequence__lte=dynamic)
    publications = Publication.objects.filter(
        ~Exists(Revision.objects.filter(publication=OuterRef("pk"))), old | updates
    ).exclude(sequence=LogHead.objects.get().sequence)
    acts = Q(kind=ENTRY, ref__in=entries.values("pk")) | Q(kind=PUBLICATION, ref__in=publications.values("pk"))
    links = AuditLink.objects.filter(acts, number__lte=min(read, default=2**62))
    return links.order_by("number").values_list("number", flat=True)


def _fold(runs: Sequence[Sequence[AuditLink]], now: datetime) -> None:
    every = [link for run in runs for link in run]
    refs = {kind: [link.ref for link in every if link.kind == kind] for kind in (ENTRY, PUBLICATION)}
    ranges = [[_first_number(run[0]), run[-1].number, run[-1].hash] for run in runs]
    audit.record(action=FOLDED, by=None, now=now, up_to=max(refs[PUBLICATION], default=0), ranges=ranges)
    entry = AuditEntry.objects.filter(action=FOLDED).latest("pk").pk
    folded = [
        AuditLink(
            number=run[-1].number,
            kind=PRUNED,
            ref=_first_number(run[0]),
            content=run[0].content if run[0].kind == PRUNED else _hash_before(run[0].number),
            parts={"entry": entry},
            chain=run[-1].chain,
        )
        for run in runs
    ]
    AuditLink.objects.filter(pk__in=[link.pk for link in every]).delete()
    AuditLink.objects.bulk_create(folded)
    AuditEntry.objects.filter(pk__in=refs[ENTRY]).delete()
    Publication.objects.filter(pk__in=refs[PUBLICATION]).delete()


def _first_number(link: AuditLink) -> int:
    return link.ref if link.kind == PRUNED else link.number


def _hash_before(number: int) -> bytes:
    before = AuditLink.objects.filter(number__lt=number).order_by("-number").first()
    return bytes(before.chain) if before else first_hash(LogHead.objects.get().cluster)
