"""Restore zones from the trash, in one publication, or in several if there are many zones. Verbs.

A problem with one zone affects only that zone: it stays in the trash, and the outcome has the reason. Each zone passes
the same checks as if it were restored alone: rights, the name, zones above and below, the chain of trust, freezes,
publish hooks, quotas.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet

from dnspanel.accounts.actors.actors import Author, Permission, Person, Right, actor_of
from dnspanel.accounts.models import AuditEntry
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import presigned_zones
from dnspanel.zones.errors import Forbidden, NamesRefused, NameTaken, RightMissing, ZoneError
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.log.sequence_log import NewRevision, append_publication, join_parts, publication_of_form
from dnspanel.zones.models import Publication, Revision, RevisionKind, Zone, gone_at
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import readable, zone_quotas
from dnspanel.zones.publishing import bulk, pieces, ready_zones
from dnspanel.zones.publishing.many_settings import MOST_ZONES, ZonesOutcome
from dnspanel.zones.publishing.ready_zones import InTransaction, nothing
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import refuse_locked
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.last_serials import last_serials
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change

# Per publication, because nodes load all of it in one transaction.
PIECE_ZONES = 1_000
PIECE_RRSETS = 50_000

GONE = "zone.gone"  # audit action: a person permanently deleted a zone in the trash before TRASH_DAYS

_TRIES = 3  # in case others create zones with the same names


@dataclass(frozen=True, slots=True)
class TrashSelection:
    """A selection of zones in the trash. Selected zones match every given field."""

    ids: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    search: str = ""
    publication: int | None = None  # the publication that deleted the zones
    deleted_since: datetime | None = None


@dataclass(slots=True)
class Restored:
    """The publications that restored zones, and each zone's outcome."""

    publications: list[Publication] = field(default_factory=list)
    outcome: ZonesOutcome = field(default_factory=ZonesOutcome)

    @property
    def last(self) -> Publication | None:
        """The newest publication, or None. A node that has this publication also has the earlier ones."""
        return self.publications[-1] if self.publications else None


def selected_from_trash(selection: TrashSelection, author: Person, most: int = MOST_ZONES) -> list[Zone]:
    """Return the selected zones in the trash that the author can see, most recently deleted first.

    Raise TooMany if there are more than `most`. Raise Forbidden if the author isn't allowed to delete any zone.
    """
    actor = actor_of(author)
    if actor is None or not actor.may_somewhere(Right.DELETE_ZONE):
        raise Forbidden(Permission.EDIT)
    zones = found_zones(access.trash_visible_to(author), selection.search)
    if selection.ids:
        zones = zones.filter(pk__in=selection.ids)
    if selection.names:
        zones = zones.filter(name__in=selection.names)
    if selection.publication is not None:
        deleted = Revision.objects.filter(publication=selection.publication, kind=RevisionKind.DELETE)
        zones = zones.filter(pk__in=deleted.values("zone"), sequence=selection.publication)
    if selection.deleted_since is not None:
        zones = zones.filter(deleted_at__gte=selection.deleted_since)
    found = list(zones.order_by("-deleted_at", "-pk")[: most + 1])
    if len(found) > most:
        raise TooMany
    return found


def newest_in_trash(author: Person) -> QuerySet[Zone]:
    """Return the zones in the trash that the author can see. If several have the same name, return only the newest."""
    later = Zone.objects.filter(name=OuterRef("name"), deleted_at__gt=OuterRef("deleted_at"))
    return access.trash_visible_to(author).exclude(Exists(later))


def gone_for_good(publication: Publication) -> list[str]:
    """Return the names of zones that a publication moved to the trash and that a person later deleted permanently.

    Zones that are deleted automatically after TRASH_DAYS are not included.
    """
    deleted_at = gone_stamp(publication.at)
    gone = AuditEntry.objects.filter(action=GONE, at__gte=publication.at, details__deleted_at=deleted_at)
    return sorted(gone.values_list("target", flat=True))


def is_out_of_trash(publication: Publication, now: datetime) -> bool:
    """Return True if the zones that a publication deleted have left the trash after TRASH_DAYS."""
    return gone_at(publication.at) <= now


def preview_restore(*, zones: Sequence[Zone], author: Author, now: datetime, reason: str = "") -> ZonesOutcome:
    """Return the expected outcome of `restore_zones`, without calling publish hooks. Write nothing."""
    total = ZonesOutcome()
    for piece in _pieces(zones):
        with transaction.atomic(durable=True):
            _, outcome = _bring_back(piece, author, reason, now, {})
            transaction.set_rollback(True)
        _join(total, outcome)
    return total


def restore_zones(
    *, zones: Sequence[Zone], acting: Acting, in_transaction: InTransaction = nothing, joins: Publication | None = None
) -> Restored:
    """Restore zones with higher serials, in one publication, or in several if there are many zones.

    Return the publications, and an outcome with each zone that stays in the trash and the reason. A zone that is
    already restored counts as unchanged. `in_transaction` runs in the transaction of each publication. Only the last
    publication gets `form_id`; if the same form is sent twice, the second call returns the first result. The
    publications are parts of one write, which can begin with `joins`. Raise PublishingOnHold or another ZoneError
    before the first publication; after an error in a later piece, the remaining zones stay in the trash.
    """
    if (first := _published_by(acting.form_id)) is not None:
        return first
    cut = list(_pieces(zones))
    done = Restored()
    has_room = True

    def join_and_go_on(publication: Publication) -> None:
        if joins is not None or len(cut) > 1:
            first = joins or next(iter(done.publications), None)
            join_parts([publication] if first is None else [first, publication])
        in_transaction(publication)

    for number, piece in enumerate(cut, 1):
        id = acting.form_id if number == len(cut) else None
        has_room = has_room and (number == 1 or pieces.make_room())
        try:
            publication, outcome = _restore_piece(piece, replace(acting, form_id=id), join_and_go_on)
        except ZoneError as exc:
            if not done.publications:
                raise
            done.outcome.refused += [(zone, str(exc)) for each in cut[number - 1 :] for zone in each]
            break
        _join(done.outcome, outcome)
        if publication is not None:
            done.publications.append(publication)
    return done


def gone_stamp(deleted_at: datetime) -> str:
    """Format the time of a deletion as in the audit-log entry for a permanently deleted zone."""
    return f"{deleted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def restorations(zones: Sequence[Zone], now: datetime) -> list[NewRevision]:
    """Write the SOA of each restored zone, which is already live. Return the revisions for the change log.

    Each SOA gets the zone's next serial, because secondaries must see an increase. The serial is also above that of any
    later deleted zone with the same name. Presigned zones keep their SOA, because the signatures cover the serial.
    Transferred zones keep it too, because the primary sets the serial. In the other zones, a DS for a zone of this
    panel is disabled if it matches none of that zone's keys. A zone that no node had is not sent to the nodes.
    `append_publication` must follow in the same transaction.
    """
    fixed = presigned_zones([zone.pk for zone in zones]) | {zone.pk for zone in zones if zone.transferred_from}
    broken: dict[str, list[str]] = {}
    for parent, child, _ in nesting.broken_below([zone.pk for zone in zones if zone.pk not in fixed]):
        broken.setdefault(parent, []).append(child)
    near = store_rrsets.rrsets_at_names(
        {zone.pk: (zone.name, {zone.name, *broken.get(zone.name, ())}) for zone in zones}
    )
    last = last_serials([zone.name for zone in zones if zone.pk not in fixed])
    revisions = []
    for zone in zones:
        soa_before = near[zone.pk][zone.name, rdtypes.SOA]
        serial, changes = soa.serial_of(soa_before), list[Change]()
        if zone.pk not in fixed:
            serial = soa.beyond(zone.soa_edits.after(serial, now), last.get(zone.name))
            changes.append(Change(zone.name, rdtypes.SOA, soa_before, soa.with_serial(soa_before, serial)))
            for child in broken.get(zone.name, ()):
                ds = near[zone.pk][child, rdtypes.DS]
                changes.append(Change(child, rdtypes.DS, ds, replace(ds, disabled=ds.rdata)))
        revisions.append(
            NewRevision(
                zone.pk,
                zone.name,
                RevisionKind.RESTORE if zone.is_served else RevisionKind.AWAIT,
                zone.revision + 1,
                serial.value,
                zone.rrset_count,
                changed=len(broken.get(zone.name, ())),
                changes=changes,
            )
        )
    store_rrsets.write_changes((each.zone_id, each.zone_name, each.changes) for each in revisions)
    return revisions


def _pieces(zones: Iterable[Zone]) -> Iterator[list[Zone]]:
    """Split the zones into pieces for one publication each, in the given order."""
    piece: list[Zone] = []
    rrsets = 0
    for zone in zones:
        if piece and (len(piece) == PIECE_ZONES or rrsets + zone.rrset_count > PIECE_RRSETS):
            yield piece
            piece, rrsets = [], 0
        piece.append(zone)
        rrsets += zone.rrset_count
    if piece:
        yield piece


def _restore_piece(
    zones: Sequence[Zone], acting: Acting, in_transaction: InTransaction
) -> tuple[Publication | None, ZonesOutcome]:
    def restore(left: Mapping[int, str]) -> tuple[Publication | None, ZonesOutcome]:
        with transaction.atomic(durable=True):
            revisions, outcome = _bring_back(zones, acting.author, acting.reason, acting.now, left)
            if not revisions:
                return None, outcome
            publication = append_publication(revisions=revisions, acting=acting)
            in_transaction(publication)
            return publication, outcome

    for _ in range(_TRIES):
        try:
            return bulk.leaving_refused(restore)
        except IntegrityError as exc:  # the same form, or another request created a zone with one of these names
            clash = exc
            if (first := _published_by(acting.form_id)) is not None:
                return first.last, first.outcome
    return publication_of_form(acting.form_id, otherwise=clash), ZonesOutcome()


def _bring_back(
    zones: Sequence[Zone], author: Author, reason: str, now: datetime, left: Mapping[int, str]
) -> tuple[list[NewRevision], ZonesOutcome]:
    """Restore each zone that passes all checks. Return the revisions and the outcome."""
    ready_zones.prefer_indexes()
    outcome = ZonesOutcome()
    coming = _coming(zones, author, reason, now, left, outcome)
    while coming:
        try:
            with transaction.atomic():
                Zone.objects.filter(pk__in=[zone.pk for zone in coming]).update(deleted_at=None)
                revisions = restorations(coming, now)
                own = [zone.pk for zone in coming]
                nesting.refuse_names(zone_names=[zone.name for zone in coming], own=own, author=author)
        except NamesRefused as refused:
            outcome.refused += [
                (zone, str(refused.refusals[zone.name])) for zone in coming if zone.name in refused.refusals
            ]
            coming = [zone for zone in coming if zone.name not in refused.refusals]
        else:
            outcome.changed = coming
            return revisions, outcome
    return [], outcome


def _coming(
    zones: Sequence[Zone], author: Author, reason: str, now: datetime, left: Mapping[int, str], outcome: ZonesOutcome
) -> list[Zone]:
    """Lock the zones and return those that can be restored. Record the rejected ones in the outcome."""
    rows = Zone.objects.select_for_update(of=("self",), no_key=True).select_related("team", "created_by")
    found = {zone.pk: zone for zone in rows.filter(pk__in=[zone.pk for zone in zones]).order_by("pk")}
    trashed = [zone for each in zones if (zone := found.get(each.pk)) is not None and zone.deleted_at is not None]
    outcome.unchanged = len(found) - len(trashed)
    outcome.refused += [(zone, gettext("The zone was permanently deleted.")) for zone in zones if zone.pk not in found]
    parts = {zone.pk: Part(zone.pk, RevisionKind.RESTORE, ()) for zone in trashed}
    over = publish_guards.reasons_over(trashed, author=author, reason=reason, now=now)
    kept = {
        **{zone.pk: over[zone.name] for zone in trashed if zone.name in over},
        **publish_guards.reasons_against(trashed, parts, author=author, reason=reason, now=now),
        **{pk: str(refusal) for pk, refusal in readable.refusals_of_stored(trashed).items()},
        **left,
    }
    taken = ready_zones.existing_zones([zone.name for zone in trashed])
    coming: dict[str, Zone] = {}
    for zone in sorted(trashed, key=lambda each: (each.deleted_at, each.pk), reverse=True):
        if refusal := _refusal(zone, author, kept, taken, coming):
            outcome.refused.append((zone, refusal))
        else:
            coming[zone.name] = zone
    without_room = {} if author is None else zone_quotas.without_room(list(coming.values()), author)
    outcome.refused += [(zone, without_room[zone.pk]) for zone in coming.values() if zone.pk in without_room]
    return [zone for zone in coming.values() if zone.pk not in without_room]


def _refusal(
    zone: Zone, author: Author, kept: Mapping[int, str], taken: Mapping[str, object], coming: Mapping[str, Zone]
) -> str:
    """Return the reason why a zone must stay in the trash, or "". `coming` has zones that the same call restores."""
    try:
        access.require_right(author, zone, Right.DELETE_ZONE)
        refuse_locked(author, zone, None)
    except RightMissing as exc:
        return str(exc)
    if zone.name in taken:
        return str(NameTaken(zone.name))
    if zone.name in coming:
        return gettext("A zone with the same name was deleted later. Only the newer zone will be restored.")
    return kept.get(zone.pk, "")


def _published_by(form_id: UUID | None) -> Restored | None:
    """Return the result of an earlier submission of this form, or None if it published nothing."""
    first = Publication.objects.filter(form_id=form_id).first() if form_id else None
    if first is None:
        return None
    parts = pieces.parts_of(first)
    revisions = Revision.objects.filter(publication__in=parts, kind__in=(RevisionKind.RESTORE, RevisionKind.AWAIT))
    back = Zone.objects.filter(pk__in=revisions.values("zone"))
    return Restored(parts, ZonesOutcome(list(back.order_by("name"))))


def _join(total: ZonesOutcome, part: ZonesOutcome) -> None:
    total.changed += part.changed
    total.refused += part.refused
    total.unchanged += part.unchanged
