"""Write zones in PowerDNS's JSON form, as text.

Requests for zones are the most frequent ones, and responses with thousands of zones or RRsets are common. The text is
therefore written directly from the rows of one query, without intermediate objects.
"""

import json
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from django.db import connection

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1.acting_metadata import TSIG_ALLOW_AXFR
from dnspanel.api.v1.attributes import attributes_of
from dnspanel.api.v1.primaries import CONSUMER, PRODUCER, SLAVE
from dnspanel.api.v1.rrsets import StoredRow, rrset_text
from dnspanel.api.v1.view import SERVER_URL, zone_id
from dnspanel.catalogs.queries import catalog_name_of, catalogs_by_member
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.primary_keys import key_name_of
from dnspanel.zones.dnssec.queries import loaded_signing_of
from dnspanel.zones.dnssec.signing_state import NSEC3NARROW, NSEC3PARAM
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication.codec.keys import relative_key
from replication.dns import names

_CATALOG = "powerdns__catalog"
_LISTED = (
    *("name", "serial", "powerdns__kind", "powerdns__account", _CATALOG, "powerdns__masters"),
    *("is_catalog", "is_served", "transferred_from", "transferred__addresses", "transferred__serial"),
)
# A row of _LISTED: name, serial, kind, account, catalog, masters, is_catalog, is_served, transferred_from, and the
# addresses and the serial of the primaries.
_Texts = list[str]
_Listed = tuple[str, int, str | None, str | None, str | None, _Texts | None, bool, bool, str, _Texts | None, int | None]

_ROWS = """
SELECT r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment, r.notes FROM zones_rrset r
WHERE r.zone_id = %(zone)s AND (%(key)s::bytea IS NULL OR r.owner_key = %(key)s)
    AND (%(type)s::int IS NULL OR r.type = %(type)s)
ORDER BY r.owner_key, r.type
"""
_ALL_ROWS = """
SELECT r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment, r.notes FROM zones_rrset r
WHERE r.zone_id = %(zone)s ORDER BY r.owner_key, r.type
"""


def zone_list(actor: Actor, *, name: str | None, with_dnssec: bool) -> str:
    """Return the JSON list of visible zones, sorted by name, or of only the zone `name`. Uses two queries."""
    zones = access.zones_visible_to(actor)
    if name is not None:
        zones = zones.filter(name=name)
    fields: list[Any] = [*_LISTED, "signing__is_signed"] if with_dnssec else [*_LISTED]
    if (by_member := catalogs_by_member(_CATALOG)) is not None:
        fields[fields.index(_CATALOG)] = by_member
    rows: Any = zones.order_by("name").values_list(*fields)
    known = len(_LISTED)
    listed = [_render_members(row[:known], is_signed=bool(row[-1]) if with_dnssec else None) for row in rows]
    return f"[{', '.join([f'{{{zone}}}' for zone in listed])}]"


def zone_object(
    actor: Actor, zone: Zone, *, with_rrsets: bool, name: str | None = None, type: int | None = None
) -> str:
    """Return a zone in PowerDNS's form, optionally with its visible RRsets, limited by `name` and `type`."""
    attributes, state = attributes_of(zone), loaded_signing_of(zone)
    row = (
        *(zone.name, zone.serial, attributes.kind, attributes.account, catalog_name_of(zone, attributes.catalog)),
        *(attributes.masters, zone.is_catalog, zone.is_served, zone.transferred_from, *_source_of(zone)),
    )
    listed = _render_members(row, is_signed=state.is_signed)
    own = json.dumps(_own_fields(attributes, zone, state.metadata))[1:-1]
    if not with_rrsets:
        return f"{{{listed}, {own}}}"
    modified_at = int(zone.changed_at.timestamp())
    rrsets = [rrset_text(row, attributes, modified_at) for row in stored_rows(actor, zone, name=name, type=type)]
    return f'{{{listed}, {own}, "rrsets": [{", ".join(rrsets)}]}}'


def stored_rows(actor: Actor, zone: Zone, *, name: str | None = None, type: int | None = None) -> Iterator[StoredRow]:
    """Yield the zone's RRsets that are visible to the actor, in canonical order. Uses one query.

    `name`, or `name` and `type`, limit the RRsets. For a producer catalog, yield only RRsets at the apex.
    """
    if zone.is_producer:  # PowerDNS generates the other RRsets of a catalog in transfers, and never shows them
        if name and name != zone.name:
            return iter(())
        name = zone.name
    if name is not None and not names.is_within(name, zone.name):
        return iter(())
    key = None if name is None else relative_key(name, zone.name)
    sees = access.visibility_of(actor, zone)
    with prepared_cursor() if key is None else connection.cursor() as cursor:
        cursor.execute(_ALL_ROWS if key is None else _ROWS, {"zone": zone.pk, "key": key, "type": type})
        rows: list[StoredRow] = cursor.fetchall()
    return iter(rows) if sees is None else (row for row in rows if sees(row[0], row[1]))


def _render_members(row: _Listed, *, is_signed: bool | None) -> str:
    """Return the JSON members that a zone also has in lists. If `is_signed` is None, omit the two DNSSEC members.

    Columns that PowerDNS clients can set are empty (None) until a client sets them. For a transferred zone, the actual
    kind and primaries are shown instead. Its serial is 0 until the first transfer. A producer catalog's kind is
    Producer.
    """
    name, serial, kind, account, catalog, masters, is_catalog, is_served, transferred_from, addresses, received = row
    if transferred_from:
        kind, masters = (CONSUMER if is_catalog else SLAVE), addresses
        if received is None and not is_served:
            serial = 0
    elif is_catalog:
        kind = PRODUCER
    id = quoted(zone_id(name))
    dnssec = ""
    if is_signed is not None:
        dnssec = f'"dnssec": {"true" if is_signed else "false"}, "edited_serial": {serial}, '
    return (
        f'"account": {quoted(account or "")}, "catalog": {quoted(catalog or "")}, {dnssec}"id": {id}, '
        f'"kind": {quoted(kind or "Native")}, "last_check": 0, "masters": {json.dumps(masters) if masters else "[]"}, '
        f'"name": {quoted(name)}, "notified_serial": {serial if kind == "Master" else 0}, "serial": {serial}, '
        f'"url": "{SERVER_URL}/zones/{id[1:]}'
    )


def _source_of(zone: Zone) -> tuple[list[str] | None, int | None]:
    """Return the addresses of a transferred zone's primaries, and the serial received from them.

    For other zones, return (None, None) and make no query.
    """
    if not zone.transferred_from:
        return None, None
    rows = TransferredZone.objects.filter(pk=zone.pk).values_list("addresses", "serial")
    return rows.first() or (None, None)


def _own_fields(attributes: PowerdnsZone, zone: Zone, signing: Mapping[str, str]) -> dict[str, Any]:
    """Return the members that appear only in the response for a single zone, not in lists."""
    return {
        "api_rectify": attributes.api_rectify,
        "master_tsig_key_ids": [zone_id(name) for name in attributes.metadata.get(TSIG_ALLOW_AXFR, ())],
        "nsec3narrow": NSEC3NARROW in signing,
        "nsec3param": signing.get(NSEC3PARAM, ""),
        "slave_tsig_key_ids": [zone_id(name) for name in [key_name_of(zone)] if name],
        "soa_edit": zone.soa_edit,
        "soa_edit_api": zone.soa_edit_api,
    }
