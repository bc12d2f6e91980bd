"""Catalogs of ours (RFC 9432) that clients of PowerDNS's API fill: a zone here says which zones are in it. Verbs.

No node has it, and nobody edits it: it follows its members. Who transfers it is said of it as of any zone: by TSIG keys
or networks that it is open to, or as a zone by name of a secondary. Its members say for themselves who transfers them.
A zone in the trash is in no catalog; one that comes back, or is put in again, has another label, so that whoever
follows the catalog begins it anew.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts import audit
from dnspanel.accounts.actors import Author
from dnspanel.accounts.grants import Right
from dnspanel.catalogs.errors import CatalogRefused
from dnspanel.catalogs.models import Produced
from dnspanel.catalogs.signals import produced
from dnspanel.texts import gettext
from dnspanel.zones import access, bulk, edit, panel_reasons
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.models import PRODUCERS, Channel, Publication, Zone
from dnspanel.zones.soa import SoaEdit
from dnspanel.zones.store_rrsets import rrset_of
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make

logger = logging.getLogger(__name__)

MOST = 50
MOST_MEMBERS = 10_000
# RRsets that one publication changes.
AT_ONCE = 2_000
TTL = 0  # nobody but those who transfer it reads it
# RFC 9432, section 4.1, wants an NS that leads nowhere.
NOWHERE = "invalid."


def create_producer(
    *,
    name: str,
    rrsets: Sequence[RRset],
    nameservers: Sequence[str] | None,
    soa_is_made: bool,
    soa_edit: SoaEdit,
    author: Author,
    channel: str,
    now: datetime,
    alongside: Callable[[], None],
) -> Publication:
    """The catalog is here, without members. `rrsets` are of its apex; without any NS it has one that leads nowhere.

    Raises as `edit.create_zone`, and CatalogRefused.
    """
    zone_name = names.parse(name)
    if any(rrset.name != zone_name or rrset.type not in {rdtypes.SOA, rdtypes.NS} for rrset in rrsets):
        reason = gettext("A catalog has a SOA and NS of its own; all else in it is made of its members.")
        raise CatalogRefused({"rrsets": [reason]})
    if _producers().count() >= MOST:
        raise CatalogRefused({"name": [gettext("There are {most} catalogs, and that is the most.").format(most=MOST)]})
    has_ns = nameservers or any(rrset.type == rdtypes.NS for rrset in rrsets)

    def begin() -> None:
        Zone.objects.filter(name=zone_name, deleted_at=None).update(is_catalog=True)
        alongside()
        audit.record(action="catalog.produce", by=author, now=now, target=zone_name)

    return edit.create_zone(
        name=name,
        rrsets=[*rrsets, make(f"version.{zone_name}", rdtypes.TXT, TTL, ['"2"'])],
        nameservers=nameservers if has_ns else [NOWHERE],
        soa_is_made=soa_is_made,
        soa_edit=soa_edit,
        author=author,
        channel=channel,
        now=now,
        alongside=begin,
        awaits_transfer=True,
    )


def put_into(*, zone: Zone, catalog_name: str, author: Author, now: datetime) -> None:
    """The zone is in the catalog of ours of this canonical name, and in no other one; in none if there is no such one.

    The catalog says so soon. That the author may change what the zone is like is the caller's to know; raises
    RightMissing for who may not do so of the catalogs that it enters and leaves, and CatalogRefused.
    """
    catalog = _producers().filter(name=catalog_name).first() if catalog_name else None
    if catalog is None and not Produced.objects.filter(zone=zone).exists():
        return
    with transaction.atomic():
        locked = Zone.objects.select_for_update(no_key=True).get(pk=zone.pk)
        before = Produced.objects.select_related("catalog").filter(zone=locked).first()
        if (before.catalog_id if before else None) == (catalog.pk if catalog else None):
            return
        for each in (catalog, before.catalog if before else None):
            if each is not None:
                access.require_right(author, each, Right.SETTINGS)
        if before is not None:
            before.delete()
        if catalog is not None:
            _refuse_member(locked, catalog)
            Produced.objects.create(zone=locked, catalog=catalog, label=_new_label())
        audit.record(
            action="catalog.member",
            by=author,
            now=now,
            target=zone.name,
            before=before.catalog.name if before else "",
            after=catalog.name if catalog else "",
        )
        transaction.on_commit(lambda: produced.send_robust(sender=Produced), robust=True)


def follow_members(*, now: datetime) -> int:
    """Every catalog of ours says which zones are in it, at most AT_ONCE changes of each; returns how many changed."""
    changed = 0
    for catalog in _producers().order_by("pk"):
        try:
            changed += _follow(catalog, now)
        except ZoneError as exc:  # a hold, or a quota: it follows once it can
            logger.warning("the catalog %s does not follow its members: %s", catalog.name, exc)
    return changed


def _producers() -> QuerySet[Zone]:
    """The catalogs of ours that are not in the trash."""
    return Zone.objects.filter(PRODUCERS, deleted_at=None)


def _follow(catalog: Zone, now: datetime) -> bool:
    expected, gone = {}, []
    rows = Produced.objects.filter(catalog=catalog).select_related("zone")
    for row in rows:
        if row.zone.deleted_at is None:
            expected[f"{row.label}.zones.{catalog.name}"] = row.zone.name
        else:
            gone.append(row)
    existing = {row.name: rrset_of(row) for row in catalog.rrsets.filter(type=rdtypes.PTR)}
    changes: dict[tuple[str, int], RRset | None] = {}
    for owner in existing.keys() - expected.keys():
        changes[owner, rdtypes.PTR] = None
    for owner, member in expected.items():
        if owner not in existing or existing[owner].rdata != (member,):
            changes[owner, rdtypes.PTR] = make(owner, rdtypes.PTR, TTL, [member])
    for row in gone:  # whoever brings it back has it begun anew
        if f"{row.label}.zones.{catalog.name}" in existing:
            Produced.objects.filter(pk=row.pk).update(label=_new_label())
    if not changes:
        return False
    publication, _ = bulk.change_zones(
        changes=[bulk.ZoneChange(catalog.pk, catalog.revision, dict(sorted(changes.items())[:AT_ONCE]))],
        author=None,
        channel=Channel.SYSTEM,
        now=now,
        reason=panel_reasons.CATALOG_MEMBERS,
    )
    return publication is not None


def _refuse_member(zone: Zone, catalog: Zone) -> None:
    if zone.is_catalog:
        raise CatalogRefused({"catalog": [gettext("A catalog is in no other one.")]})
    if Produced.objects.filter(catalog=catalog).count() >= MOST_MEMBERS:
        reason = gettext("A catalog has at most {most:,} members.").format(most=MOST_MEMBERS)
        raise CatalogRefused({"catalog": [reason]})


def _new_label() -> str:
    return uuid.uuid4().hex
