"""Create, delete and restore zones, and empty the trash. Verbs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Right, SystemRight
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import (
    NamesRefused,
    NameTaken,
    NotInTrash,
    QuotaExceeded,
    RevisionMoved,
    RuleViolations,
    Unknown,
    ZoneError,
)
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.sequence_log import InTransaction, append_publication, join_parts, nothing, publication_of_form
from dnspanel.zones.models import TRASH_DAYS, Channel, Publication, RevisionKind, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import readable, zone_quotas
from dnspanel.zones.plan.deletion_guard import refuse_mass_deletion
from dnspanel.zones.plan.merge import Edit
from dnspanel.zones.plan.plan import plan_zones
from dnspanel.zones.publishing import bulk, pieces, ready_zones
from dnspanel.zones.publishing.first_signing import sign_new_zones
from dnspanel.zones.publishing.restore_zones import restorations
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import refuse_locked
from dnspanel.zones.rules.computed_types import COMPUTED, reasons_against
from dnspanel.zones.rules.neighbourhood import names_below
from dnspanel.zones.rules.rules import check_zone
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.settings import server_sets
from dnspanel.zones.settings.server_sets import ServerSet
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from replication.dns import names, rdtypes
from replication.dns.rrset import Change, RRset, make
from replication.errors import BadRRset

Then = Callable[[], Publication]  # publishes more for the caller, in the same transaction


@dataclass(frozen=True, slots=True)
class NewZone:
    """A zone to create: its name (canonical for `create_zones`), and its RRsets beyond the default SOA and NS."""

    name: str
    rrsets: Sequence[RRset] | None = None


@dataclass(frozen=True, slots=True)
class Apex:
    """The defaults for a new zone that lacks an SOA or NS.

    The name servers come from the first available source: `server_set`, `nameservers`, the default set of the team or
    the panel, or the settings. A zone with the name servers of a set is linked to the set. If the caller created the
    SOA (`soa_is_made`), its primary is replaced with the set's primary. `soa_edit` has the rules for the zone's
    serials, including the first one.
    """

    nameservers: Sequence[str] | None = None
    hostmaster: str | None = None
    server_set: ServerSet | None = None
    soa_is_made: bool = False
    soa_edit: soa.SoaEdit | None = None

    def complete(self, zone: str, rrsets: Sequence[RRset], now: datetime) -> list[RRset]:
        """Return the RRsets with missing SOA and NS added and the SOA adjusted. `nameservers` must already be set."""
        at_apex = {rrset.type for rrset in rrsets if rrset.name == zone}
        content = list(rrsets)
        if self.soa_is_made and self.server_set is not None:
            servers = self.server_set.servers
            content = [servers.named_in_new(rrset) if rrset.type == rdtypes.SOA else rrset for rrset in content]
        if rdtypes.NS not in at_apex:
            content.insert(0, self._servers(zone))
        if rdtypes.SOA not in at_apex:
            content.insert(0, self._soa(zone, now))
        return content if self.soa_edit is None else [self._with_first_serial(each, zone, now) for each in content]

    def _servers(self, zone: str) -> RRset:
        if self.server_set is not None:
            return self.server_set.servers.nameservers(zone)
        return make(zone, rdtypes.NS, soa.DEFAULT_TTL, self.nameservers or ())

    def _soa(self, zone: str, now: datetime) -> RRset:
        mailbox = self.hostmaster or settings.DEFAULT_HOSTMASTER
        primary = (self.nameservers or settings.DEFAULT_NAMESERVERS)[0]
        if self.server_set is not None:
            primary = self.server_set.servers.first
            mailbox = self.hostmaster or self.server_set.servers.hostmaster or mailbox
        return soa.default_soa(zone, primary, mailbox, soa.first_serial(now))

    def _with_first_serial(self, rrset: RRset, zone: str, now: datetime) -> RRset:
        if self.soa_edit is None or (rrset.name, rrset.type) != (zone, rdtypes.SOA):
            return rrset
        return soa.with_serial(rrset, self.soa_edit.first(soa.serial_of(rrset), now))


@dataclass(frozen=True, slots=True)
class ZoneToDelete:
    """A zone to delete, and the revision that it must still have (None: any)."""

    zone: Zone
    at_revision: int | None = None


def create_zone(  # noqa: PLR0913  # a zone, and what happens with it
    *,
    zone: NewZone,
    acting: Acting,
    apex: Apex = Apex(),
    team: Team | None = None,
    in_transaction: InTransaction = nothing,
    then: Then | None = None,
    awaits_transfer: bool = False,
) -> Publication:
    """Create a zone and publish it as revision 1.

    The zone's name can be as a person typed it. This function makes it canonical. `apex` has the defaults for a missing
    SOA or NS. If a zone with this name was deleted, the new serial is above the deleted zone's last serial. If the same
    form is sent twice, return the first publication. For `team`, see `access.team_for_new_zone`. The zone is signed
    from the start if its DNSSEC policy requires that. A zone with more RRsets than `pieces.PIECE_RRSETS` is filled by
    further publications; the last one is returned, and `in_transaction` runs in its transaction.

    Otherwise, `in_transaction` runs after the zone's row is written. `then` runs as the last step of the transaction
    that creates the zone, after the zone is in the change log. It can publish more for the new zone: that publication
    is then returned. If `awaits_transfer` is True, the zone is not signed, nodes get it only after its first transfer,
    and `in_transaction` sets its primaries.

    Raise BadName for an invalid name, and NameRefused for an existing zone or a name that the author is not allowed to
    have (see `nesting`). Raise QuotaExceeded, BadRRset for a repeated RRset, RuleViolations for errors (not for
    warnings), or RightMissing if the author isn't allowed to create the zone.
    """
    name, rrsets = names.parse(zone.name), zone.rrsets or ()
    team = access.team_for_new_zone(acting.author, team, name)
    server_set = apex.server_set
    if server_set is None and apex.nameservers is None and not awaits_transfer and not _has_nameservers(name, rrsets):
        server_set = server_sets.default_set(None if team is None else team.pk)
    begins = replace(apex, nameservers=_servers(apex.nameservers), server_set=server_set)
    content = begins.complete(name, rrsets, acting.now)
    _refuse_errors(name, content, acting.author)

    def begin() -> None:
        if apex.soa_edit is not None:
            made = Zone.objects.filter(name=name, deleted_at=None)
            made.update(soa_edit_api=apex.soa_edit.api, soa_edit=apex.soa_edit.edit)
        _follow(server_set, [(name, content)], acting.now)

    def write_rest() -> None:
        begin()
        in_transaction()

    if not awaits_transfer and pieces.exceeds_piece(len(content)):
        return _create_in_pieces(name, content, acting, team, begin, in_transaction, then)
    kind = RevisionKind.AWAIT if awaits_transfer else RevisionKind.CREATE
    return _create([(name, content)], acting, team, write_rest, then, kind)


def _create_in_pieces(  # noqa: PLR0913  # a zone, and what happens with it
    name: str,
    content: Sequence[RRset],
    acting: Acting,
    team: Team | None,
    begin: InTransaction,
    in_transaction: InTransaction,
    then: Then | None,
) -> Publication:
    """Create a zone with its apex, then publish its other RRsets in pieces. Return the last publication."""
    zone_quotas.refuse_rrsets(acting.author, team, [(name, len(content))])
    try:
        first = [rrset for rrset in content if rrset.name == name]
        created = _create([(name, first)], replace(acting, form_id=None), team, begin, then, more_follows=True)
    except ZoneError as refusal:
        return publication_of_form(acting.form_id, otherwise=refusal)
    zone = Zone.objects.get(name=name, deleted_at=None, sequence=created.sequence)
    rest = [Change(rrset.name, rrset.type, None, rrset) for rrset in content if rrset.name != name]
    filled = pieces.publish_in_pieces(
        plans=plan_zones({zone.pk: (zone, list(map(Edit, rest)))}, acting.now, with_rules=False),
        acting=acting,
        in_transaction=in_transaction,
        fills=created,
    )
    return filled.publication or created


def create_zones(  # noqa: PLR0913  # zones, and what happens with them
    *,
    zones: Sequence[NewZone],
    acting: Acting,
    team: Team | None = None,
    server_set: ServerSet | None = None,
    in_transaction: InTransaction = nothing,
    awaits_transfer: bool = False,
    under: SystemRight | None = None,
) -> Publication:
    """Create zones in one publication. If any zone fails, create none. `in_transaction` works as in `create_zone`.

    Raise NameTaken or NameReserved for the first such name. For names that the author is not allowed to have, raise
    NameRefused if only one zone is created, else NamesRefused (see `nesting`).

    For `team`, and for RightMissing, see `access.team_for_new_zone`. Raise QuotaExceeded if the zones exceed a quota in
    number or size. Zones are signed from the start if their DNSSEC policies require that, except zones of an import.

    RRsets must be results of `rrset.make`, because few checks are made here. The database rejects duplicates and a
    CNAME next to other data. Names outside of the zone, and types and values that some node can't answer, are rejected
    too. A missing SOA or apex NS comes from `server_set`, as in `create_zone`. Zones with the set's name servers are
    linked to the set. `awaits_transfer` works as in `create_zone`.
    """
    team = access.team_for_new_zone(acting.author, team, zones[0].name)
    if (
        server_set is None
        and not awaits_transfer
        and not all(_has_nameservers(zone.name, zone.rrsets or ()) for zone in zones)
    ):
        server_set = server_sets.default_set(None if team is None else team.pk)
    begins = Apex(_servers(None), server_set=server_set)
    content = [(zone.name, begins.complete(zone.name, zone.rrsets or (), acting.now)) for zone in zones]
    for name, rrsets in content:
        if any(rrset.type in COMPUTED or not rrset.name.endswith(name) for rrset in rrsets):
            _refuse_errors(name, rrsets, acting.author)
    readable.refuse_unreadable(content)

    def write_rest() -> None:
        _follow(server_set, content, acting.now)
        in_transaction()

    kind = RevisionKind.AWAIT if awaits_transfer else RevisionKind.CREATE
    return _create(content, acting, team, write_rest, kind=kind, under=under)


def delete_zone(*, zone: Zone, acting: Acting, at_revision: int | None = None, confirmed: bool = False) -> Publication:
    """Move a zone to the trash. Nodes then stop serving it. Return the publication.

    Operations on the zone are removed from all drafts. Raise Unknown if the zone is already deleted, RightMissing if
    the author isn't allowed to delete it, or RevisionMoved if it isn't at `at_revision`. Raise MassDeletion if the
    author deletes too many zones in a short time, unless a person `confirmed` that.
    """
    return delete_zones(zones=[ZoneToDelete(zone, at_revision)], acting=acting, confirmed=confirmed)


@after_hooks
def delete_zones(*, zones: Sequence[ZoneToDelete], acting: Acting, confirmed: bool = False) -> Publication:
    """Delete zones in one publication: all or none. Remove operations on these zones from all drafts.

    The guard checks all zones together before the first one is deleted. It raises MassDeletion unless a person
    `confirmed` the deletion or the author's token is allowed to delete many zones. Raise Unknown, RightMissing or
    RevisionMoved for the first zone that fails. If the same form is sent twice, return the first publication.
    """
    expected = {each.zone.pk: each for each in zones}
    try:
        with transaction.atomic(durable=True):
            alive = Zone.objects.select_for_update(no_key=True).filter(pk__in=list(expected), deleted_at=None)
            locked = {zone.pk: zone for zone in alive.order_by("pk")}
            for pk, each in expected.items():
                _refuse_deletion(acting.author, each, locked.get(pk))
            if not confirmed:
                names_of_zones = [zone.name for zone in locked.values()]
                refuse_mass_deletion(
                    author=acting.author,
                    count=len(locked),
                    now=acting.now,
                    names=names_of_zones,
                    zones=Zone.objects.filter(pk__in=list(locked)),
                )
            revisions = bulk.into_trash(zones=locked.values(), now=acting.now)
            return append_publication(revisions=revisions, acting=acting)
    except (ZoneError, IntegrityError) as refusal:
        return publication_of_form(acting.form_id, otherwise=refusal)


def _refuse_deletion(author: Author, expected: ZoneToDelete, found: Zone | None) -> None:
    if found is None:
        raise Unknown(expected.zone.name)
    access.require_right(author, found, Right.DELETE_ZONE)
    refuse_locked(author, found, None)
    if expected.at_revision is not None and found.revision != expected.at_revision:
        raise RevisionMoved(found.name, expected=expected.at_revision, found=found.revision)


@after_hooks
def restore_zone(
    *, zone: Zone, author: Author, channel: str, now: datetime, reason: str = "", form_id: UUID | None = None
) -> Publication:
    """Restore a zone from the trash with a higher serial. Return the publication.

    A DS in the zone is disabled if it is for another zone of this panel and matches none of that zone's keys now. If
    the same form is sent twice, return the first publication. Raise NotInTrash, RightMissing, QuotaExceeded, or
    RuleViolations for values that nodes can't read now. Raise NameRefused if another zone has the name now, or if other
    people's zones are above or below. Also raise it if a DS in the parent zone matches none of the zone's keys.
    """
    try:
        with transaction.atomic(durable=True):
            trashed = Zone.objects.select_for_update(no_key=True).filter(pk=zone.pk).exclude(deleted_at=None).first()
            if trashed is None:
                raise NotInTrash(zone.name)
            access.require_right(author, trashed, Right.DELETE_ZONE)
            refuse_locked(author, trashed, None)
            if Zone.objects.filter(name=trashed.name, deleted_at=None).exists():
                raise NameTaken(trashed.name)
            if author is not None:
                zone_quotas.refuse_zone_of(creator=trashed.created_by, team=trashed.team)
            zone_quotas.refuse_rrsets(author, trashed.team, [(trashed.name, trashed.rrset_count)])
            if unreadable := readable.refusals_of_stored([trashed]):
                raise unreadable[trashed.pk]
            Zone.objects.filter(pk=trashed.pk).update(deleted_at=None)
            revisions = restorations([trashed], now)
            nesting.refuse_names(zone_names=[trashed.name], own=[trashed.pk], author=author)
            return append_publication(revisions=revisions, acting=Acting(author, channel, now, reason, form_id))
    except NamesRefused as refused:
        return publication_of_form(form_id, otherwise=refused.first)
    except (ZoneError, IntegrityError) as refusal:
        return publication_of_form(form_id, otherwise=refusal)


def empty_trash(*, now: datetime) -> int:
    """Permanently delete zones that have been in the trash for more than TRASH_DAYS. Return the number of zones."""
    old = Zone.objects.filter(deleted_at__lt=now - timedelta(days=TRASH_DAYS))
    _, by_model = old.delete()
    return by_model.get("zones.Zone", 0)


@after_hooks
def _create(  # noqa: PLR0913  # zones, and what happens with them
    zones: Sequence[tuple[str, Sequence[RRset]]],
    acting: Acting,
    team: Team | None,
    in_transaction: InTransaction,
    then: Then | None = None,
    kind: RevisionKind = RevisionKind.CREATE,
    under: SystemRight | None = None,
    *,
    more_follows: bool = False,
) -> Publication:
    author, now, form_id = acting.author, acting.now, acting.form_id
    ids = ready_zones.allocate_zone_ids(len(zones))
    new = [
        ready_zones.BulkZone(id, name, _serial_in(name, rrsets), len(rrsets))
        for id, (name, rrsets) in zip(ids, zones, strict=True)
    ]
    rows = (store_rrsets.rows_of_zone(zone.id, name, rrsets) for zone, (name, rrsets) in zip(new, zones, strict=True))
    try:
        with transaction.atomic(durable=True):
            ready_zones.refuse_new_zones(zones=new, author=author, team=team)
            new = ready_zones.insert_zones(zones=new, rows=rows, author=author, now=now, team=team)
            in_transaction()
            if kind == RevisionKind.AWAIT:
                Zone.objects.filter(pk__in=ids).update(is_served=False)
            elif acting.channel != Channel.IMPORT:
                sign_new_zones(zone_ids=ids, author=author, now=now)
            nesting.refuse_names(zone_names=[zone.name for zone in new], own=ids, author=author)
            publication = append_publication(revisions=ready_zones.creations(new, kind), acting=acting, under=under)
            last = publication if then is None else then()
            if more_follows or last != publication:
                join_parts([publication, last])
            return last
    except NamesRefused as refused:
        raise (refused.first if len(zones) == 1 else refused) from None
    except QuotaExceeded as refusal:
        return publication_of_form(form_id, otherwise=refusal)
    except IntegrityError as clash:
        taken = ready_zones.taken_names([name for name, _ in zones])
        return publication_of_form(form_id, otherwise=NameTaken(taken[0]) if taken else clash)


def _servers(nameservers: Sequence[str] | None) -> list[str]:
    return [names.parse(server) for server in nameservers or settings.DEFAULT_NAMESERVERS]


def _has_nameservers(zone: str, rrsets: Sequence[RRset]) -> bool:
    return any(rrset.type == rdtypes.NS and rrset.name == zone for rrset in rrsets)


def _follow(server_set: ServerSet | None, zones: Sequence[tuple[str, Sequence[RRset]]], now: datetime) -> None:
    """Link new zones to the name server set if their NS records match the set."""
    if server_set is None:
        return
    following = [name for name, rrsets in zones if server_sets.has_servers_of(server_set, name, rrsets)]
    if following:
        server_sets.link_new_zones(
            template_id=server_set.template_id, version=server_set.version, zone_names=following, now=now
        )


def _refuse_errors(zone: str, content: Sequence[RRset], author: Author) -> None:
    by_key: dict[tuple[str, int], RRset] = {}
    for rrset in content:
        if by_key.setdefault((rrset.name, rrset.type), rrset) is not rrset:
            raise BadRRset(
                name=rrset.name,
                type=rrset.type,
                reason=gettext("the RRset at {name} is listed twice").format(name=rrset.name),
            )
    types = {rrset.type for rrset in content}
    violations = check_zone(
        zone,
        by_key,
        by_key.keys(),
        below=names_below(zone, content),
        allow_lua=access.may_publish_lua(author),
        unanswered=reasons_against(types | {rdtypes.ALIAS} if (zone, rdtypes.CNAME) in by_key else types),
    )
    errors = [violation for violation in violations if violation.severity == Severity.ERROR]
    if errors:
        raise RuleViolations(errors)


def _serial_in(zone: str, rrsets: Iterable[RRset]) -> int:
    return next(soa.serial_of(r).value for r in rrsets if r.type == rdtypes.SOA and r.name == zone)
