"""Link actions to the audit log's chain. A worker does this after their commit, so that actions don't wait. Verbs.

Transactions don't commit in the order of their entry ids, and no action must wait until earlier actions are linked.
Therefore one worker at a time extends the chain afterwards, and gives the next numbers to committed actions.
Publications are linked in the order of their sequences, which have no gaps. Entries without a link are linked if their
ids are above `floor`.

`floor` rises to an id only after the end of all transactions that were running when that id was the newest.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.database.sql import fetch_one
from dnspanel.zones.audit import audit_verify
from dnspanel.zones.audit.audit_chain import ENTRY, PUBLICATION, first_hash, next_hash
from dnspanel.zones.audit.audit_contents import entry_contents, publication_contents
from dnspanel.zones.models import AuditChain, AuditLink, LogHead, Publication
from dnspanel.zones.rights import access

BATCH = 1_000
# One turn links this number of batches; the next turn continues.
MOST_BATCHES = 50
_CHECKED_EVERY = timedelta(hours=23)

logger = logging.getLogger(__name__)


def link_new_acts() -> int:
    """Link committed actions to the chain, up to a limit. Return their number, or 0 if another worker is linking."""
    linked = 0
    with hold_lock(Lock.AUDIT_CHAIN) as is_mine:
        for _ in range(MOST_BATCHES if is_mine else 0):
            found = _link_batch()
            linked += found
            if found < BATCH:
                break
    if linked:
        head = AuditLink.objects.latest("number")
        # This writes a hash to the logs, where a later check can find it.
        logger.info("audit linked=%d number=%d hash=%s", linked, head.number, bytes(head.chain).hex())
    return linked


def ask_for_check(*, by: Author, now: datetime) -> None:
    """Request a check of the whole chain, which runs later. Raise Forbidden if the actor lacks the permission AUDIT."""
    access.require(by, Permission.AUDIT)
    with transaction.atomic():
        AuditChain.objects.update_or_create(pk=1, defaults={"asked_at": now})
        audit.record(action="audit.check", by=by, now=now)


def is_check_requested() -> bool:
    """Return True if a check was requested and hasn't run yet."""
    return AuditChain.objects.filter(pk=1).exclude(asked_at=None).exists()


def is_check_due(now: datetime) -> bool:
    """Return True if a check was requested, or if the last _CHECKED_EVERY had no check."""
    recent = AuditChain.objects.filter(pk=1, asked_at=None, checked_at__gt=now - _CHECKED_EVERY)
    return not recent.exists()


def check_chain(*, now: datetime) -> audit_verify.Verdict:
    """Check the whole chain, and store and return the result."""
    verdict = audit_verify.verify_chain()
    AuditChain.objects.update_or_create(
        pk=1,
        defaults={"checked_at": now, "checked_to": verdict.linked, "faults": list(verdict.faults), "asked_at": None},
    )
    if verdict.faults:
        logger.error("the audit log does not match its chain: %s", "; ".join(verdict.faults))
    return verdict


def _link_batch() -> int:
    with transaction.atomic():
        chain, _ = AuditChain.objects.select_for_update().get_or_create(pk=1)
        oldest, newest = _transactions()
        above = Publication.objects.filter(sequence__gt=chain.sequence).order_by("sequence")
        publications = list(above.values_list("sequence", "at")[:BATCH])
        new = [(at, PUBLICATION, sequence) for sequence, at in publications]
        new += [(at, ENTRY, id_) for id_, at in _entries_without_link(chain.floor).values_list("pk", "at")[:BATCH]]
        # Sequences are assigned in ascending order, even if clocks differ: no publication overtakes an earlier one.
        sequences = iter([sequence for sequence, _ in publications])
        acts = [(kind, next(sequences) if kind == PUBLICATION else ref) for _, kind, ref in sorted(new)[:BATCH]]
        if acts:
            _append(acts)
            last = [ref for kind, ref in acts if kind == PUBLICATION]
            chain.sequence = max(last, default=chain.sequence)
        _raise_floor(chain, oldest, newest)
        chain.save(update_fields=["sequence", "floor", "next_floor", "next_floor_after"])
    return len(acts)


def _append(acts: list[tuple[str, int]]) -> None:
    contents = {
        ENTRY: entry_contents([ref for kind, ref in acts if kind == ENTRY]),
        PUBLICATION: publication_contents([ref for kind, ref in acts if kind == PUBLICATION]),
    }
    head = AuditLink.objects.order_by("-number").first()
    number, chain = (head.number, bytes(head.chain)) if head else (0, first_hash(LogHead.objects.get().cluster))
    links = []
    for kind, ref in acts:
        number += 1
        content, parts = contents[kind][ref].digest, contents[kind][ref].parts
        chain = next_hash(chain, number=number, kind=kind, ref=ref, content=content)
        links.append(AuditLink(number=number, kind=kind, ref=ref, content=content, parts=parts, chain=chain))
    AuditLink.objects.bulk_create(links)


def _entries_without_link(floor: int) -> "QuerySet[AuditEntry]":
    links = AuditLink.objects.filter(kind=ENTRY, ref=OuterRef("pk"))
    return AuditEntry.objects.filter(~Exists(links), pk__gt=floor).order_by("pk")


def _transactions() -> tuple[int, int]:
    """Return the id of the oldest running transaction and the id of the next transaction to start."""
    oldest, newest = fetch_one(
        "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint FROM pg_current_snapshot() s"
    )
    return int(oldest), int(newest)


def _raise_floor(chain: AuditChain, oldest: int, newest: int) -> None:
    """Raise the floor as far as is safe. After it reaches the next floor, store the newest entry id as the next one.

    The floor rises to a stored id only after the end of all transactions that were running when the id was stored.
    """
    waits_for = chain.next_floor_after
    if waits_for is not None and oldest >= waits_for:
        lowest = _entries_without_link(chain.floor).filter(pk__lte=chain.next_floor).first()
        # In a long backlog, the floor rises with each batch. Otherwise each batch would read all linked entries.
        chain.floor = chain.next_floor if lowest is None else lowest.pk - 1
        waits_for = None if lowest is None else waits_for
    if waits_for is None or waits_for > newest:  # a database restored elsewhere starts its transaction ids again
        chain.next_floor = AuditEntry.objects.aggregate(newest=Max("pk"))["newest"] or 0
        waits_for = newest
    chain.next_floor_after = waits_for
