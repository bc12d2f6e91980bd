"""Publish a large change in pieces, so that other people's edits can be published in between. Verbs.

The change log has one order, and a publisher locks its head while the changes are written. 200,000 RRsets in one
publication would delay an edit made a moment later by half a minute. A change larger than one piece is therefore first
checked as a whole, and nothing is published if any part is rejected. Then the pieces are published one by one, as soon
as the nodes can receive more (`signals.room_requested`).

All changes to a name are in one piece, so that a CNAME never exists next to its replacement. In each zone, deleted
names come first, because additions can depend on deletions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from django.db import transaction

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Conflicts, PublishedInPart, RevisionMoved, Unknown, ZoneError
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.sequence_log import join_parts
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.plan.merge import Edit
from dnspanel.zones.plan.plan import ZonePlan, plan_zones
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access
from dnspanel.zones.signals import room_requested
from dnspanel.zones.store.find_zones import lock_zones
from replication.dns.rrset import Change

# The publisher process needs about a quarter of a second for them.
PIECE_RRSETS = 2_000


@dataclass(frozen=True, slots=True)
class Published:
    """The last publication of a change in pieces (None if nothing changed), and one plan for each zone.

    A plan's `zone` has the serial from before the first piece, and the revision from before the zone's last piece.
    """

    publication: Publication | None
    plans: tuple[ZonePlan, ...]


def is_large(plans: Sequence[ZonePlan]) -> bool:
    """Return True if the plans together have more changes than fit into one publication."""
    return exceeds_piece(sum(len(plan.changes) for plan in plans))


def exceeds_piece(rrsets: int) -> bool:
    """Return True if this number of RRsets needs several pieces. A dry run (`rehearsal`) is always one piece."""
    return rrsets > PIECE_RRSETS and rehearsal.under_way() is None


def publish_in_pieces(
    *,
    plans: Sequence[ZonePlan],
    acting: Acting,
    in_transaction: Callable[[], object],
    expected: Mapping[int, int] | None = None,
    fills: Publication | None = None,
    under: SystemRight | None = None,
) -> Published:
    """Publish all changes of the plans in several publications. Return the last one and the final plans.

    The caller must have rejected invalid plans (`revision.refuse`). This function only checks conflicts with later
    publications, the author's current rights, and quotas. `expected` has the revision of zones that no one else is
    allowed to change in between. `in_transaction` runs in the transaction of the last piece, and only the last
    publication gets the form's id. `fills` is the publication that created the zone that the plans fill, as the first
    part of this write. The creator of a zone is allowed to fill it, even without the right to add records later.

    Raise Unknown, RevisionMoved, RightMissing, QuotaExceeded or Conflicts before the first piece is published. Later,
    raise PublishedInPart: published pieces are not undone.
    """
    pieces = list(_cut(plans))
    first = fills
    revisions = dict(expected or {})
    outcome = Published(None, tuple(plans))
    has_room = True
    for number, piece in enumerate(pieces, 1):
        has_room = has_room and make_room()
        is_last = number == len(pieces)

        @after_hooks
        def publish_piece(
            piece: Mapping[int, Sequence[Change]] = piece,
            at: Mapping[int, int] = revisions,
            *,
            is_last: bool = is_last,
            first: Publication | None = first,
        ) -> tuple[tuple[ZonePlan, ...], Publication | None]:
            with transaction.atomic(durable=True):
                of_piece = _plan(piece, at, acting.now)
                for plan in () if fills is not None else of_piece:
                    access.refuse_changes(acting.author, plan.zone, plan.changes, under)
                zone_quotas.refuse_growth(acting.author, of_piece)
                if is_last:
                    in_transaction()
                by = acting if is_last else replace(acting, form_id=None)
                publication = revision.carry_out(of_piece, by, under=under)
                if publication is not None and (first is not None or len(pieces) > 1):
                    join_parts([publication] if first is None else [first, publication])
                return of_piece, publication

        try:
            of_piece, publication = publish_piece()
        except ZoneError as refusal:
            if outcome.publication is None:
                raise
            raise PublishedInPart(pieces=number - 1, of=len(pieces), last=outcome.publication.sequence) from refusal
        first = first or publication
        moved = [plan.zone for plan in of_piece if plan.changes and plan.zone.pk in revisions]
        revisions |= {zone.pk: zone.revision + 1 for zone in moved}
        outcome = Published(publication or outcome.publication, _after(outcome.plans, of_piece))
    return outcome


def parts_of(publication: Publication) -> list[Publication]:
    """Return all publications of the same write, in log order. Most writes have one publication."""
    if publication.part_of is None:
        return [publication]
    parts = Publication.objects.select_related("author", "token").filter(part_of=publication.part_of)
    return list(parts.order_by("sequence"))


def make_room() -> bool:
    """Wait until the nodes can receive another piece without delaying edits. Return False if that takes too long."""
    return all(answer for _, answer in room_requested.send(sender=Publication))


def _plan(piece: Mapping[int, Sequence[Change]], expected: Mapping[int, int], now: datetime) -> tuple[ZonePlan, ...]:
    """Lock a piece's zones and return their plans. Raise Unknown (deleted), RevisionMoved or Conflicts."""
    zones = {zone.pk: zone for zone in lock_zones(piece)}
    for zone_id in piece:
        zone = zones.get(zone_id)
        if zone is None:
            raise Unknown(Zone.objects.get(pk=zone_id).name)
        if zone.revision != expected.get(zone_id, zone.revision):
            raise RevisionMoved(zone.name, expected=expected[zone_id], found=zone.revision)
    plans = plan_zones(
        {id: (zones[id], list(map(Edit, changes))) for id, changes in piece.items()}, now, with_rules=False
    )
    if conflicts := [conflict for plan in plans for conflict in plan.conflicts]:
        raise Conflicts(conflicts)
    return plans


def _cut(plans: Iterable[ZonePlan]) -> Iterator[dict[int, list[Change]]]:
    """Yield pieces of at most PIECE_RRSETS changes, keyed by zone id. Only a piece with a single name can be larger."""
    piece: dict[int, list[Change]] = {}
    size = 0
    for plan in plans:
        for changes in _by_name(plan):
            if size and size + len(changes) > PIECE_RRSETS:
                yield piece
                piece, size = {}, 0
            piece.setdefault(plan.zone.pk, []).extend(changes)
            size += len(changes)
    if piece:
        yield piece


def _by_name(plan: ZonePlan) -> list[list[Change]]:
    """Return the changes grouped by name: names with only deletions first, and the apex last."""
    found = [list(changes) for _, changes in groupby(plan.changes, key=lambda change: change.name)]
    return sorted(found, key=lambda of: (of[0].name == plan.zone.name, any(change.after is not None for change in of)))


def _after(plans: Sequence[ZonePlan], latest: Sequence[ZonePlan]) -> tuple[ZonePlan, ...]:
    """Return the plans with the revisions and SOAs that their zones have in the piece `latest`."""
    by_zone = {plan.zone.pk: plan for plan in latest if plan.changes}
    return tuple(_rebase_plan(plan, by_zone.get(plan.zone.pk)) for plan in plans)


def _rebase_plan(plan: ZonePlan, latest: ZonePlan | None) -> ZonePlan:
    if latest is None:
        return plan
    zone = copy(plan.zone)
    zone.revision = latest.zone.revision
    return replace(plan, zone=zone, soa_after=latest.soa_after)
