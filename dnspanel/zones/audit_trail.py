"""Who did what: one stream of the audit log's entries and of publications, newest first.

Each of the two is read backwards by its own key, so a page costs the same
however long the log is, and what is written meanwhile moves nothing.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet

from dnspanel.accounts.actors import Actor
from dnspanel.accounts.models import AuditEntry
from dnspanel.accounts.roles import Permission
from dnspanel.zones.models import Publication, Revision
from replication.dns import names

PUBLISH = "publish"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Act:
    """One act as the log shows it; `target` is in words, `details` are facts without secrets."""

    kind: str  # "entry" or "publication"
    id: int  # of the audit entry, or the sequence
    at: datetime
    user: str
    token: str  # its purpose
    token_id: int | None
    action: str
    target: str
    address: str
    request_id: str
    details: dict[str, Any] = field(default_factory=dict)


class Place(NamedTuple):
    """Where a page ended: the last audit entry and the last publication that were shown (None: none yet)."""

    entry: int | None = None
    publication: int | None = None


BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Filters:
    """Which acts: an exact action, or a beginning such as `token.`; by whom; from and to when.

    And with which texts in action, target or reason; from which address, or
    addresses that begin so.
    """

    action: str = ""
    user: str = ""
    since: datetime | None = None
    until: datetime | None = None
    texts: tuple[str, ...] = ()
    address: str = ""


def acts_page(
    actor: Actor, *, filters: Filters, after: Place = BEGINNING, limit: int = 50
) -> tuple[list[Act], Place | None]:
    """Acts behind `after`, and where the next page begins (None: nowhere). Who may not read the log sees their own."""
    entries = _entries(actor, filters, after)[: limit + 1]
    publications = _publications(actor, filters, after)[: limit + 1]
    both = heapq.merge(_acts(entries), _published(publications), key=lambda act: act.at, reverse=True)
    found = [act for act, _ in zip(both, range(limit + 1), strict=False)]
    page = found[:limit]
    return page, _end_of(page, after) if len(found) > limit else None


def _end_of(page: Sequence[Act], after: Place) -> Place:
    entries = [act.id for act in page if act.kind == "entry"]
    publications = [act.id for act in page if act.kind == "publication"]
    return Place(
        min(entries, default=after.entry), min(publications, default=after.publication)
    )  # both keys fall along the page


def _entries(actor: Actor, filters: Filters, after: Place) -> "QuerySet[AuditEntry]":
    found = AuditEntry.objects.select_related("user", "token").filter(_shared(actor, filters, "user")).order_by("-pk")
    if filters.action.endswith("."):
        found = found.filter(action__startswith=filters.action)
    elif filters.action:
        found = found.filter(action=filters.action)
    for word in filters.texts:
        found = found.filter(Q(target__icontains=word) | Q(action__icontains=word))
    if filters.address:
        found = found.filter(address__startswith=filters.address)
    return found if after.entry is None else found.filter(pk__lt=after.entry)


def _publications(actor: Actor, filters: Filters, after: Place) -> "QuerySet[Publication]":
    if filters.action not in {"", PUBLISH} or filters.address:
        return Publication.objects.none()
    found = Publication.objects.select_related("author", "token").filter(_shared(actor, filters, "author"))
    for word in filters.texts:
        found = found.filter(reason__icontains=word)
    return (found if after.publication is None else found.filter(pk__lt=after.publication)).order_by("-pk")


def _shared(actor: Actor, filters: Filters, by: str) -> Q:
    """What both are filtered by: own acts only without the permission, and for a token those by itself."""
    shared = Q()
    if Permission.AUDIT not in actor.permissions:
        shared &= Q(**{by: actor.user}) if actor.token is None else Q(token=actor.token)
    if filters.user:
        shared &= Q(**{f"{by}__username__iexact": filters.user})
    if filters.since is not None:
        shared &= Q(at__gte=filters.since)
    if filters.until is not None:
        shared &= Q(at__lt=filters.until)
    return shared


def _acts(entries: "QuerySet[AuditEntry]") -> Iterator[Act]:
    for entry in entries:
        yield Act(
            "entry",
            entry.pk,
            entry.at,
            entry.user.username if entry.user else "",
            entry.token.purpose if entry.token else "",
            entry.token_id,
            entry.action,
            entry.target,
            entry.address or "",
            entry.request_id,
            entry.details,
        )


def _published(publications: "QuerySet[Publication]") -> Iterator[Act]:
    page = list(publications)
    counts = _counts(page)
    for row in page:
        found = counts.get(row.pk, _Counts())
        yield Act(
            "publication",
            row.pk,
            row.at,
            row.author.username if row.author else "",
            row.token.purpose if row.token else "",
            row.token_id,
            PUBLISH,
            found.target,
            "",
            "",
            {"channel": row.channel, "reason": row.reason, "zones": found.zones},
        )


class _Counts(NamedTuple):
    zones: int = 0
    named: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        more = self.zones - len(self.named)
        return ", ".join([*map(names.display, self.named), *([f"{more:,} more"] if more else [])])


def _counts(page: Sequence[Publication]) -> dict[int, _Counts]:
    """How many zones each publication changed, and the names of the first, in at most two queries."""
    revisions = Revision.objects.filter(publication__in=[row.pk for row in page])
    counted = dict(revisions.values_list("publication").annotate(Count("pk")) if page else ())
    named: dict[int, list[str]] = {}
    few = [sequence for sequence, count in counted.items() if count <= _MOST_NAMED]
    for sequence, name in revisions.filter(publication__in=few).order_by("pk").values_list("publication", "zone__name"):
        named.setdefault(sequence, []).append(name)
    return {sequence: _Counts(count, tuple(named.get(sequence, ()))) for sequence, count in counted.items()}
