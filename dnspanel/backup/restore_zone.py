"""Plan and publish the restoration of one zone from an archive. The rest of the panel stays unchanged. Verbs.

An existing zone is changed to its archived state in one revision. A zone in the trash is restored first, with its
history and its keys. A zone that is no longer in the trash is created again, with its keys, its tags and its team.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.accounts.secrets.master_keys import own_keys
from dnspanel.backup.archived_zone import ArchivedZone
from dnspanel.backup.backup_archive import refuse_another_key
from dnspanel.backup.errors import ZoneNotRestorable
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import presigned_zones
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import edit, restore_zones, zone_patches
from dnspanel.zones.publishing.first_signing import BroughtSigning, record_first_signings
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset, Serial

ACTION = "zone.restore-from-backup"


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The effects of restoring a zone now. `zone` is None if the zone must be created again."""

    archived: ArchivedZone
    zone: Zone | None
    changes: tuple[Change, ...]

    @property
    def is_in_trash(self) -> bool:
        return self.zone is not None and self.zone.deleted_at is not None

    @property
    def is_nothing(self) -> bool:
        """True if the zone already equals its archived state."""
        return self.zone is not None and not self.is_in_trash and not self.changes


def plan_restore(archived: ArchivedZone) -> ZonePlan:
    """Compare the archived zone with the current one, live or in the trash. Nothing is written.

    Raise ZoneNotRestorable if the zone, in the archive or now, is transferred, is a catalog or is signed elsewhere.
    """
    if not archived.is_edited_here or archived.signing.presigned:
        raise ZoneNotRestorable(
            archived.name, gettext("in the archive, the zone is transferred from another server or signed elsewhere.")
        )
    named = Zone.objects.filter(name=archived.name)
    zone = named.filter(deleted_at=None).first() or named.exclude(deleted_at=None).order_by("-deleted_at").first()
    if zone is not None and (not zone.is_edited_here or presigned_zones([zone.pk])):
        raise ZoneNotRestorable(
            archived.name, gettext("the zone is now transferred from another server or signed elsewhere.")
        )
    now = rrsets_of_zones([zone.pk])[zone.pk] if zone is not None else {}
    then = {(rrset.name, rrset.type): rrset for rrset in archived.rrsets}
    keys = sorted({*now, *then}, key=lambda key: (key[0] != archived.name, key))
    changes = (Change(*key, now.get(key), then.get(key)) for key in keys)
    return ZonePlan(archived, zone, tuple(change for change in changes if not soa.same(change.before, change.after)))


def restore_zone(
    *,
    archived: ArchivedZone,
    author: Author,
    now: datetime,
    reason: str,
    confirmed: bool = False,
    serial: int | None = None,
) -> list[Publication]:
    """Publish the zone in its archived state. Return the publications, or an empty list if nothing differs.

    A zone that is created again gets a serial above `serial`, because secondaries can have a higher serial than the
    archive. Raise BackupError or ZoneError if a step fails; earlier steps stay published. The actor and the archive are
    recorded in the audit log.
    """
    plan = plan_restore(archived)
    if plan.zone is None:
        return [_create(archived, author, now, reason, serial)]
    published = []
    if plan.is_in_trash:
        back = restore_zones.restore_zones(zones=[plan.zone], acting=Acting(author, Channel.SYSTEM, now, reason))
        if back.last is None:
            raise ZoneNotRestorable(archived.name, " ".join(text for _, text in back.outcome.refused))
        published.append(back.last)
    if plan.changes:
        outcome = zone_patches.publish_patches(
            patches=[_patch(plan.zone, archived.rrsets)],
            acting=Acting(author, Channel.SYSTEM, now, reason),
            confirmed=confirmed,
        )
        published += [outcome.publication] if outcome.publication is not None else []
    if published:
        _record(archived, author, now, reason, published)
    return published


def _patch(zone: Zone, rrsets: Sequence[RRset]) -> zone_patches.Patch:
    """Return a patch that replaces the zone's whole content with these RRsets, computed while the zone is locked."""
    then: dict[Key, RRset] = {(rrset.name, rrset.type): rrset for rrset in rrsets}

    def decide(current: zone_patches.CurrentRRsets) -> Changes:
        keys = {*current, *then}
        return {key: then.get(key) for key in keys if not soa.same(current.get(key), then.get(key))}

    return zone_patches.Patch(zone, decide, None)


def _create(archived: ArchivedZone, author: Author, now: datetime, reason: str, serial: int | None) -> Publication:
    """Create a zone that no longer exists, with its archived keys and settings, in one publication."""
    signing = None
    if archived.keys:
        refuse_another_key(archived.manifest, own_keys())
        signing = archived.brought_signing()

    def in_transaction() -> None:
        zones = Zone.objects.filter(name=archived.name, deleted_at=None)
        settings_then = {
            name: text for name in ("soa_edit_api", "soa_edit") if (text := archived.row.get(name)) is not None
        }
        zones.update(tags=archived.tags, default_ttl=archived.default_ttl, **settings_then)
        if signing is not None:
            _sign(zones.get().pk, signing, author, now)

    publication = edit.create_zones(
        zones=[edit.NewZone(archived.name, _above(archived.rrsets, serial))],
        acting=Acting(author, Channel.IMPORT, now, reason),  # keeps policies from creating new keys for the zone
        team=Team.objects.filter(pk=archived.team_id).first() if archived.team_id is not None else None,
        in_transaction=in_transaction,
    )
    _record(archived, author, now, reason, [publication])
    return publication


def _sign(zone_id: int, signing: BroughtSigning, author: Author, now: datetime) -> None:
    record_first_signings(zones=[(zone_id, signing)], author=author, now=now, action=ACTION)


def _above(rrsets: Sequence[RRset], serial: int | None) -> list[RRset]:
    """Return the RRsets with an SOA serial above the archive's, and above `serial` if given."""
    found = []
    for rrset in rrsets:
        if rrset.type == rdtypes.SOA:
            known = None if serial is None else Serial(serial)
            rrset = soa.with_serial(rrset, soa.above(soa.serial_of(rrset), known))
        found.append(rrset)
    return found


def _record(
    archived: ArchivedZone, author: Author, now: datetime, reason: str, published: Sequence[Publication]
) -> None:
    with transaction.atomic():
        audit.record(
            action=ACTION,
            by=author,
            now=now,
            target=archived.name,
            made_at=archived.manifest.made_at,
            reason=reason,
            publications=[each.sequence for each in published],
        )
