"""Store the zone attributes, other than records, that API v1 clients set and read back. Verbs.

The catalog, the TSIG keys for transfers, and the serial settings also take effect here. `primaries` applies the kind
and the masters. The other attributes are only stored.

In the panel, an RRset has a single comment. PowerDNS has a list of comments, each with an account and a time. This list
is stored next to the comment, and is only used while the comment still matches the list.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1.acting_metadata import TSIG_ALLOW_AXFR
from dnspanel.api.v1.kept_metadata import replace_metadata
from dnspanel.api.v1.primaries import PRIMARY_KEYS
from dnspanel.catalogs import producer
from dnspanel.zones.models import Zone
from dnspanel.zones.settings.settings_of_zone import change_soa_edit
from replication.dns import rdata

Comment = dict[str, Any]  # account, content, modified_at
CommentKey = tuple[str, int]  # owner name and type

# Names of the TSIG keys that can transfer the zone. They are stored as metadata, as in PowerDNS.
TRANSFER_KEYS = "master_tsig_key_ids"
SERIAL_FIELDS = {"soa_edit_api": "api", "soa_edit": "edit"}  # → the argument of `change_soa_edit`
FIELDS = ("kind", "account", "catalog", "api_rectify", "masters", *SERIAL_FIELDS)


def attributes_of(zone: Zone) -> PowerdnsZone:
    """Return the zone's PowerDNS attributes, or the defaults. Needs no query if the attributes were already loaded."""
    try:
        return zone.powerdns
    except PowerdnsZone.DoesNotExist:
        return PowerdnsZone(zone=zone)


def keep_attributes(*, zone: Zone, attributes: Mapping[str, Any], by: Author, now: datetime) -> None:
    """Set attributes of the zone (FIELDS and TRANSFER_KEYS) and record changes in the audit log.

    Skip unchanged values. Ignore PRIMARY_KEYS, which `primaries.follow_kind` applies to the zone's primaries. Raise
    SettingsRefused for an unknown serial setting, CatalogRefused for a zone that can't be in the catalog, and
    RightMissing if the actor isn't allowed to change the catalog's members.
    """
    with transaction.atomic():
        if TRANSFER_KEYS in attributes:
            replace_metadata(zone=zone, kind=TSIG_ALLOW_AXFR, values=attributes[TRANSFER_KEYS], by=by, now=now)
        if "catalog" in attributes:
            producer.put_into(zone=zone, catalog_name=attributes["catalog"], author=by, now=now)
        serials = {SERIAL_FIELDS[field]: value for field, value in attributes.items() if field in SERIAL_FIELDS}
        if serials:
            change_soa_edit(zone=zone, author=by, now=now, **serials)
        row, others = _lock_row(zone), attributes.keys() - {TRANSFER_KEYS, PRIMARY_KEYS, *SERIAL_FIELDS}
        changed = {field: attributes[field] for field in others if getattr(row, field) != attributes[field]}
        if not changed:
            return
        before = {field: getattr(row, field) for field in changed}
        for field, value in changed.items():
            setattr(row, field, value)
        row.save()
        audit.record(action="zone.facts", by=by, now=now, target=zone.name, before=before, after=changed)


def take_in_named(*, catalog: Zone, by: Author, now: datetime) -> None:
    """Add the zones whose `catalog` attribute already names this new catalog, except catalog and deleted zones."""
    named = PowerdnsZone.objects.filter(catalog=catalog.name, zone__deleted_at=None, zone__is_catalog=False)
    zone_ids = list(named.order_by("pk").values_list("pk", flat=True)[: producer.MOST_MEMBERS + 1])
    producer.take_in(catalog=catalog, zone_ids=zone_ids, author=by, now=now)


def keep_comments(*, zone: Zone, comments: Mapping[CommentKey, Sequence[Comment]]) -> None:
    """Store these RRsets' full comment lists. An empty list deletes the stored one."""
    if not any(comments.values()) and not attributes_of(zone).comments:
        return
    with transaction.atomic():
        row = _lock_row(zone)
        for (name, type_), in_full in comments.items():
            key = _stored_key(name, type_)
            if in_full:
                row.comments[key] = list(in_full)
            else:
                row.comments.pop(key, None)
        row.save()


def comment_text(comments: Sequence[Comment]) -> str:
    """Join several comments into one string, separated by semicolons and without duplicates."""
    flat = (" ".join(comment["content"].split()) for comment in comments)
    return "; ".join(dict.fromkeys(text for text in flat if text))


def comments_in_full(attributes: PowerdnsZone, name: str, type: int, text: str, modified_at: int) -> list[Comment]:
    """Return the stored comments if they match the RRset's comment `text`, or else only `text`, or [] without text."""
    if not text:
        return []
    kept: list[Comment] = attributes.comments.get(_stored_key(name, type), []) if attributes.comments else []
    if kept and comment_text(kept) == text:
        return kept
    return [{"account": "", "content": text, "modified_at": modified_at}]


def _lock_row(zone: Zone) -> PowerdnsZone:
    """Lock the zone and return its PowerdnsZone row, or a new unsaved row if none is stored."""
    locked = Zone.objects.select_for_update(no_key=True).get(pk=zone.pk)
    return PowerdnsZone.objects.filter(pk=locked.pk).first() or PowerdnsZone(zone=locked)


def _stored_key(name: str, type: int) -> str:
    return f"{name} {rdata.type_to_text(type)}"
