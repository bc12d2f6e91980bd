"""List audit entries and publications as one stream, newest first, or in the order of the audit log's chain.

Both tables are read backward by primary key. Therefore a page costs the same in a log of any length, and new actions
don't shift later pages.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from dnspanel.accounts.actors.actors import Actor, Permission, actor_form, token_form_of
from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.models import AuditEntry
from dnspanel.zones.audit.audit_chain import ENTRY, PUBLICATION
from dnspanel.zones.models import AuditLink, Change, Publication, Revision, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.search.zone_conditions import in_zone_name
from replication.dns import names, rdtypes

PUBLISH = "publish"
# The action name of an action that is in the chain, but no longer in the tables.
GONE = "audit.gone"
# The columns of an export.
COLUMNS = (
    "number",
    "hash",
    "at",
    "kind",
    "id",
    "user",
    "token",
    "token_id",
    "action",
    "target",
    "address",
    "request_id",
    "session",
    "details",
)
# A publication in up to this number of zones shows their names.
MOST_NAMED = 3
# If up to this number of zones match a word, publications are found by the zones' ids.
_FEW_ZONES = 1_000
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Act:
    """An action as shown in the log. `target` is readable text. `details` contains no secrets."""

    kind: str  # "entry" or "publication"
    id: int  # of the audit entry, or the sequence
    at: datetime
    user: str
    token: str  # the token's purpose
    token_id: int | None
    action: str
    target: str
    address: str
    request_id: str
    details: dict[str, Any] = field(default_factory=dict)
    number: int | None = None  # the chain number; None if the action isn't linked yet
    hash: str = ""  # of the chain up to this action
    token_prefix: str = ""
    session: str = ""  # public id of the browser session
    rrsets: int = 0  # that a publication changed
    revision_kind: str = ""  # of all revisions of a publication, or empty if they differ

    @property
    def actor(self) -> dict[str, Any]:
        """The actor in the API's format. If an audit entry has an address but no user, the actor is a visitor."""
        token = None if self.token_id is None else token_form_of(self.token_id, self.token_prefix, self.token)
        return actor_form(self.user, token, is_anonymous=self.kind == ENTRY and bool(self.address))

    @property
    def changes(self) -> tuple["ValueChange", ...]:
        """The values that the action changed. `before` is None for an added value, and `after` for a removed one."""
        found = _changes_in(self.action, self.target, self.details)
        return tuple(change for change in found if change.before != change.after)

    @property
    def other_details(self) -> dict[str, Any]:
        """The details other than old and new values."""
        found = list(_changes_in(self.action, self.target, self.details))
        told = {change.name for change in found}
        told |= {f"{name}_before" for name in told} | ({"before", "after"} if found else set())
        return {name: value for name, value in self.details.items() if name not in told}


class ValueChange(NamedTuple):
    name: str
    before: Any
    after: Any


class Place(NamedTuple):
    """The end of a page: the last audit entry and the last publication shown, or None if no page has shown one yet."""

    entry: int | None = None
    publication: int | None = None


BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters for actions: the action (exact, or a prefix such as `token.`), user, time, texts, address and session.

    `since` is inclusive and `until` exclusive. Each of `texts` must occur in a displayed column (user, token, action,
    target, reason or other details), or be a full request id. `address` and `session` are whole, or the
    beginning of one.
    """

    action: str = ""
    user: str = ""
    since: datetime | None = None
    until: datetime | None = None
    texts: tuple[str, ...] = ()
    address: str = ""
    session: str = ""


def acts_page(
    actor: Actor, *, filters: Filters, after: Place = BEGINNING, limit: int = 50
) -> tuple[list[Act], Place | None]:
    """Return the actions after `after`, and the place where the next page starts (None at the end).

    If a user lacks the permission AUDIT, only the user's own actions are included. If the actor is a token that lacks
    it, only actions made with the token are included.
    """
    entries = _entries(actor, filters, after)[: limit + 1]
    publications = _publications(actor, filters, after)[: limit + 1]
    both = heapq.merge(
        acts_of_entries(entries), _acts_of_publications(publications), key=lambda act: act.at, reverse=True
    )
    found = [act for act, _ in zip(both, range(limit + 1), strict=False)]
    page = _with_links(found[:limit])
    return page, _end_of(page, after) if len(found) > limit else None


def act_of(actor: Actor, *, kind: str, id: int) -> Act | None:
    """Return an action, or None if it doesn't exist or the actor isn't allowed to see it."""
    if kind == ENTRY:
        entries = AuditEntry.objects.select_related("user", "token").filter(
            _common_filter(actor, Filters(), "user"), pk=id
        )
        found = list(acts_of_entries(entries))
    else:
        rows = Publication.objects.select_related("author", "token")
        found = list(_acts_of_publications(rows.filter(_common_filter(actor, Filters(), "author"), pk=id)))
    return next(iter(_with_links(found)), None)


def all_acts(actor: Actor, *, filters: Filters, most: int) -> Iterator[Act]:
    """Yield up to `most` actions, newest first. They are read page by page."""
    place: Place | None = BEGINNING
    while place is not None and most > 0:
        page, place = acts_page(actor, filters=filters, after=place, limit=min(most, _PAGE))
        most -= len(page)
        yield from page


def row_of(act: Act) -> dict[str, Any]:
    """Return an action as a table row with the columns in COLUMNS."""
    row = {name: getattr(act, name) for name in COLUMNS}
    return row | {"at": act.at.isoformat()}


def document_of(act: Act) -> dict[str, Any]:
    """Return an action as JSON: the columns of `row_of`, with the actor in the API's format."""
    row = {name: value for name, value in row_of(act).items() if name not in ("user", "token", "token_id")}
    return row | {"actor": act.actor}


def linked_acts(*, after: int, limit: int, now: datetime) -> list[Act]:
    """Return the first `limit` actions whose chain numbers follow `after`, in chain order. Rights aren't checked.

    If an action was deleted, a placeholder is returned instead. Its `action` is GONE, its time is `now`, and its number
    and hash come from the chain.
    """
    links = list(AuditLink.objects.filter(number__gt=after).order_by("number")[:limit])
    entries = AuditEntry.objects.select_related("user", "token")
    rows = Publication.objects.select_related("author", "token")
    acts = [
        *acts_of_entries(entries.filter(pk__in=[link.ref for link in links if link.kind == ENTRY])),
        *_acts_of_publications(rows.filter(pk__in=[link.ref for link in links if link.kind == PUBLICATION])),
    ]
    found = {(act.kind, act.id): act for act in acts}
    return [
        replace(
            found.get((link.kind, link.ref)) or Act(link.kind, link.ref, now, "", "", None, GONE, "", "", ""),
            number=link.number,
            hash=bytes(link.chain).hex(),
        )
        for link in links
    ]


def rrset_changes(actor: Actor, sequence: int, most: int) -> list[Change]:
    """Return a publication's first `most` RRset changes, except SOA changes, in zones that the actor can see."""
    zones = access.zones_visible_to(actor).values("pk")
    changes = Change.objects.filter(revision__publication=sequence, revision__zone__in=zones).exclude(type=rdtypes.SOA)
    return list(changes.select_related("revision__zone").order_by("revision__zone__name", "owner_key", "type")[:most])


def _with_links(acts: Sequence[Act]) -> list[Act]:
    """Return the actions with their chain numbers and hashes. Makes at most one query."""
    if not acts:
        return []
    of_kinds = [Q(kind=kind, ref__in=[act.id for act in acts if act.kind == kind]) for kind in (ENTRY, PUBLICATION)]
    links = {(link.kind, link.ref): link for link in AuditLink.objects.filter(of_kinds[0] | of_kinds[1])}
    found = [(act, links.get((act.kind, act.id))) for act in acts]
    return [replace(act, number=link.number, hash=bytes(link.chain).hex()) if link else act for act, link in found]


# For actions whose details have the old value in `before`: the name of the detail with the new value.
_AFTER = {
    "group.resolver": "after",
    "group.verify": "verify_seconds",
    "person.quotas": "quotas",
    "person.role": "role",
    "team.change": "role",
    "team.quotas": "quotas",
}


def _changes_in(action: str, target: str, details: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Yield the changed values in an action's details.

    The details contain `before` and `after` (or another new value, or a rename's target), or `x_before` and `x`.
    """
    before, after = details.get("before"), details.get("after")
    if isinstance(before, dict) and isinstance(after, dict):
        yield from (ValueChange(name, before.get(name), after.get(name)) for name in sorted({*before, *after}))
    elif action.endswith(".rename") and before is not None:
        yield ValueChange("name", before, target)
    elif action in _AFTER and "before" in details:
        name = _AFTER[action]
        yield ValueChange(action.partition(".")[2] if name == "after" else name, before, details.get(name))
    for name, value in details.items():
        if name.endswith("_before"):
            yield ValueChange(name.removesuffix("_before"), value, details.get(name.removesuffix("_before")))


def _end_of(page: Sequence[Act], after: Place) -> Place:
    entries = [act.id for act in page if act.kind == ENTRY]
    publications = [act.id for act in page if act.kind == PUBLICATION]
    return Place(
        min(entries, default=after.entry), min(publications, default=after.publication)
    )  # both keys decrease along the page


def _entries(actor: Actor, filters: Filters, after: Place) -> "QuerySet[AuditEntry]":
    found = (
        AuditEntry.objects.select_related("user", "token")
        .filter(_common_filter(actor, filters, "user"))
        .order_by("-pk")
    )
    if filters.action.endswith("."):
        found = found.filter(action__startswith=filters.action)
    elif filters.action:
        found = found.filter(action=filters.action)
    for word in filters.texts:
        found = found.annotate(told=Cast("details", TextField())).filter(
            Q(target__icontains=word)
            | Q(action__icontains=word)
            | Q(user__username__icontains=word)
            | Q(token__purpose__icontains=word)
            | Q(told__icontains=word)
            | Q(request_id=word)
        )
    return found if after.entry is None else found.filter(pk__lt=after.entry)


def _publications(actor: Actor, filters: Filters, after: Place) -> "QuerySet[Publication]":
    if filters.action not in {"", PUBLISH}:
        return Publication.objects.none()
    found = Publication.objects.select_related("author", "token").filter(_common_filter(actor, filters, "author"))
    for word in filters.texts:
        if word.lower() not in PUBLISH:
            found = found.filter(
                Q(reason__icontains=word)
                | Q(channel__icontains=word)
                | Q(author__username__icontains=word)
                | Q(token__purpose__icontains=word)
                | Q(request_id=word)
                | _changed_zones(word)
            )
    return (found if after.publication is None else found.filter(pk__lt=after.publication)).order_by("-pk")


def _changed_zones(word: str) -> Q:
    """Return the condition for publications that changed a zone whose stored or displayed name contains this word.

    If few zones match, the zones' revisions are looked up. If many zones match, publications are read backward, because
    matching ones are frequent.
    """
    by_name = in_zone_name(word)
    few = list(Zone.objects.filter(by_name).values_list("pk", flat=True)[: _FEW_ZONES + 1])
    if len(few) <= _FEW_ZONES:
        return Q(pk__in=Revision.objects.filter(zone__in=few).values("publication"))
    return Q(Exists(Revision.objects.filter(publication=OuterRef("pk"), zone__in=Zone.objects.filter(by_name))))


def _common_filter(actor: Actor, filters: Filters, by: str) -> Q:
    """Return the filter for entries and publications. Users and tokens that lack AUDIT see only their own actions."""
    shared = Q()
    if Permission.AUDIT not in actor.permissions:
        shared &= Q(**{by: actor.user}) if actor.token is None else Q(token=actor.token)
    if filters.user:
        shared &= has_username(filters.user, f"{by}__")
    if filters.since is not None:
        shared &= Q(at__gte=filters.since)
    if filters.until is not None:
        shared &= Q(at__lt=filters.until)
    if filters.address:
        shared &= Q(address__startswith=filters.address)
    if filters.session:
        shared &= Q(session__startswith=filters.session)
    return shared


def acts_of_entries(entries: Iterable[AuditEntry]) -> Iterator[Act]:
    """Yield the actions of audit entries, without their links in the chain."""
    for entry in entries:
        yield Act(
            ENTRY,
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
            token_prefix=entry.token.prefix if entry.token else "",
            session=entry.session,
        )


def _acts_of_publications(publications: "QuerySet[Publication]") -> Iterator[Act]:
    page = list(publications)
    counts = _counts(page)
    for row in page:
        found = counts.get(row.pk, _Counts())
        yield Act(
            PUBLICATION,
            row.pk,
            row.at,
            row.author.username if row.author else "",
            row.token.purpose if row.token else "",
            row.token_id,
            PUBLISH,
            found.target,
            row.address or "",
            row.request_id,
            {"channel": row.channel, "reason": row.reason, "zones": found.zones},
            token_prefix=row.token.prefix if row.token else "",
            session=row.session,
            rrsets=found.rrsets,
            revision_kind=found.kind,
        )


class _Counts(NamedTuple):
    zones: int = 0
    rrsets: int = 0
    kind: str = ""
    named: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        more = self.zones - len(self.named)
        return ", ".join([*map(names.display, self.named), *([f"{more:,} more"] if more else [])])


def _counts(page: Sequence[Publication]) -> dict[int, _Counts]:
    """Count the zones and RRsets that each publication changed, and name few zones. Make up to two queries."""
    revisions = Revision.objects.filter(publication__in=[row.pk for row in page])
    sizes = {"zones": Count("pk"), "rrsets": Sum(F("added") + F("changed") + F("removed"))}
    kinds = {"first": Min("kind"), "last": Max("kind")}
    counted = list(revisions.values_list("publication").annotate(**sizes, **kinds) if page else ())
    named: dict[int, list[str]] = {}
    few = [sequence for sequence, zones, *_ in counted if zones <= MOST_NAMED]
    for sequence, name in revisions.filter(publication__in=few).order_by("pk").values_list("publication", "zone__name"):
        named.setdefault(sequence, []).append(name)
    return {
        sequence: _Counts(zones, rrsets, first if first == last else "", tuple(named.get(sequence, ())))
        for sequence, zones, rrsets, first, last in counted
    }
