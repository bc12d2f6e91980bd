"""Store zone metadata that API v1 clients set and read back. Verbs.

SOA-EDIT and the kinds in `acting_metadata.ACTS` take effect when they are written. PowerDNS also acts on some other
kinds. The kinds in NO_EFFECT have no effect in the panel: they are stored for programs that set them, and the response
to a write contains a warning. Kinds with the prefix `X-`, which programs define, are stored without a warning. Kinds
that would only appear to restrict access are rejected (REFUSED).

While a zone has keys, PUBLISH-CDS and PUBLISH-CDNSKEY show how the zone is signed. Without keys, their values are
stored, and take effect when the zone gets keys through API v1.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.api.errors import ApiError
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1 import acting_metadata
from dnspanel.api.v1.acting_metadata import ALLOW_AXFR_FROM, ALSO_NOTIFY, AXFR_MASTER_TSIG, NotObeyed
from dnspanel.primaries.primary_keys import key_name_of
from dnspanel.secondaries import access, keyless
from dnspanel.secondaries.set_up_secondaries import checked_addresses, checked_networks
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.dnssec.signing_state import PUBLISH_CDNSKEY, PUBLISH_CDS, SigningState
from dnspanel.zones.errors import DnssecRefused, NotSigned, Unknown
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.settings.settings_of_zone import change_soa_edit
from dnspanel.zones.signing import sign

# The kinds that clients can write in PowerDNS's API, and the kinds that they can read.
WRITABLE = frozenset(
    [
        "ALLOW-AXFR-FROM",
        "AXFR-SOURCE",
        "ALLOW-DNSUPDATE-FROM",
        "TSIG-ALLOW-DNSUPDATE",
        "FORWARD-DNSUPDATE",
        "SOA-EDIT-DNSUPDATE",
        "NOTIFY-DNSUPDATE",
        "ALSO-NOTIFY",
        "GSS-ALLOW-AXFR-PRINCIPAL",
        "GSS-ACCEPTOR-PRINCIPAL",
        "IXFR",
        "PUBLISH-CDNSKEY",
        "PUBLISH-CDS",
        "SLAVE-RENOTIFY",
        "SOA-EDIT",
    ]
)
READABLE = WRITABLE | frozenset(
    ["AXFR-MASTER-TSIG", "LUA-AXFR-SCRIPT", "NSEC3NARROW", "NSEC3PARAM", "PRESIGNED", "TSIG-ALLOW-AXFR"]
)
# The kinds that are also fields of the zone.
SOA_EDIT, SOA_EDIT_API, API_RECTIFY = "SOA-EDIT", "SOA-EDIT-API", "API-RECTIFY"

# Kinds that are stored although they have no effect, and the reason.
NO_EFFECT: Mapping[str, str] = {
    "AXFR-SOURCE": "primaries are asked from the address that leads there",
    "FORWARD-DNSUPDATE": "updates are carried out by the panel itself",
    "GSS-ACCEPTOR-PRINCIPAL": "TSIG keys are shared secrets only",
    "GSS-ALLOW-AXFR-PRINCIPAL": "TSIG keys are shared secrets only",
    "SOA-EDIT-DNSUPDATE": "serials move by SOA-EDIT-API, whichever way a change came",
}
# Refused kinds: a client that sets one relies on a restriction that does not exist.
REFUSED: Mapping[str, str] = {
    "ALLOW-DNSUPDATE-FROM": "updates are allowed by TSIG key, from whatever address; limit the key instead",
}
# The kinds about DNSKEY records. They have no effect while a zone has no keys.
OF_KEYS = frozenset((PUBLISH_CDS, PUBLISH_CDNSKEY))

MOST_BYTES = 64 << 10
_FREE = re.compile(r"X-[ -~]*", re.ASCII)


class TooMuchMetadata(ApiError):
    """The zone's metadata would exceed MOST_BYTES."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(f"The metadata of {zone_name} would be larger than {MOST_BYTES >> 10} kB.")


def warning_about(zone: Zone, kind: str, values: Sequence[str]) -> str:
    """Return a warning for a client that set a kind without effect, or "" if no warning is needed."""
    if values and kind in OF_KEYS and not (state := signing_of(zone)).keys:
        reason = "is served with the signatures that it came with" if state.presigned else "is not signed"
        return f"{kind} is kept, but has no effect while {zone.name} {reason}."
    if values and kind in (ALLOW_AXFR_FROM, ALSO_NOTIFY) and (reason := access.reason_against(zone)):
        return f"{kind} has no effect now: {reason}"
    return f"{kind} is kept, but has no effect: {NO_EFFECT[kind]}." if values and kind in NO_EFFECT else ""


def is_writable(kind: str) -> bool:
    """Return True if clients can write this kind."""
    return kind in WRITABLE or is_free(kind)


def is_readable(kind: str) -> bool:
    """Return True if clients can read this kind at its own URL."""
    return kind in READABLE or is_free(kind)


def is_free(kind: str) -> bool:
    """Return True if programs can define this kind themselves."""
    return _FREE.fullmatch(kind) is not None


def metadata_of(zone: Zone) -> dict[str, list[str]]:
    """Return all of the zone's metadata, keyed by kind."""
    return _by_kind(_row(zone), zone, signing_of(zone))


def add_metadata(*, zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> list[str]:
    """Add metadata values of one kind to the zone, without duplicates. Return all values of the kind.

    Raise NotObeyed if a value would have no effect here, and TooMuchMetadata if the metadata would exceed MOST_BYTES.
    Raise DnssecRefused for invalid CDS settings, and BadName if a value can't be a TSIG key's name.
    """
    return _write(zone, kind, values, by, now, keep=True)


def replace_metadata(*, zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    """Replace the zone's values of a kind. Empty `values` remove the kind. Raise the errors of `add_metadata`."""
    _write(zone, kind, values, by, now, keep=False)


def _write(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime, *, keep: bool) -> list[str]:
    if values and kind in REFUSED:
        raise NotObeyed(kind, REFUSED[kind])
    if kind not in OF_KEYS or signing_of(zone).presigned:
        return _keep(zone, kind, values, by, now, keep=keep)
    written: list[str] = []

    def keep_it() -> None:
        written[:] = _keep(zone, kind, values, by, now, keep=keep)

    before = _by_kind(_row(zone), zone, signing_of(zone)).get(kind, []) if keep else []
    cds, cdnskey = _publishing(kind, [*before, *values])
    try:
        acting = Acting(by, Channel.API, now)
        sign.set_cds(zone=zone, cds=cds, cdnskey=cdnskey, acting=acting, in_transaction=keep_it)
    except NotSigned:
        keep_it()
    return written


def act_on_kept(*, zone: Zone, before: SigningState, acting: Acting) -> list[Publication]:
    """Apply stored CDS and CDNSKEY settings if the zone got its first keys after `before`. Return publications."""
    kept = _row(zone).metadata
    if before.keys or OF_KEYS.isdisjoint(kept) or not signing_of(zone).keys:
        return []
    cds, _ = _publishing(PUBLISH_CDS, kept.get(PUBLISH_CDS, ()))
    _, cdnskey = _publishing(PUBLISH_CDNSKEY, kept.get(PUBLISH_CDNSKEY, ()))
    return sign.set_cds(zone=zone, cds=cds, cdnskey=cdnskey, acting=acting)


def _publishing(kind: str, values: Sequence[str]) -> tuple[str | None, bool | None]:
    """Convert the values of one kind to the CDS and CDNSKEY settings. The setting for the other kind is None.

    As in PowerDNS, only the first value counts. Raise DnssecRefused if it is invalid.
    """
    first = values[0] if values else ""
    if kind == PUBLISH_CDS:
        return sign.digest_list(first), None
    if first == "0":
        raise DnssecRefused("PUBLISH-CDS 0 asks the parent to delete its DS here; CDNSKEY records then do so too.")
    return None, bool(first)


def _keep(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime, *, keep: bool) -> list[str]:
    with transaction.atomic():
        locked = Zone.objects.select_for_update(no_key=True).filter(pk=zone.pk, deleted_at=None).first()
        if locked is None:
            raise Unknown(zone.name)
        row = _row(zone)
        current = _by_kind(row, locked, signing_of(locked)).get(kind, [])
        result = (
            [*current, *(value for value in dict.fromkeys(values) if value not in current)] if keep else list(values)
        )
        acting_metadata.act_on(zone=locked, kind=kind, values=result, by=by, now=now)
        if result == current == row.metadata.get(kind, current):
            return result
        if kind == SOA_EDIT:
            change_soa_edit(zone=zone, edit=result[0] if result else "", author=by, now=now)
        row.metadata = {**{k: v for k, v in row.metadata.items() if k != kind}, **({kind: result} if result else {})}
        if sum(len(text.encode()) for word, texts in row.metadata.items() for text in (word, *texts)) > MOST_BYTES:
            raise TooMuchMetadata(zone.name)
        row.save()
        counts = {"values": len(result), "values_before": len(current)}  # not the values, which can be secret
        audit.record(action="zone.metadata", by=by, now=now, target=zone.name, kind=kind, **counts)
    return result


def _of_signing(row: PowerdnsZone, state: SigningState) -> dict[str, list[str]]:
    """Return the metadata that describes how the zone is signed. Keep the client's spelling of equivalent values."""
    found = {kind: [value] for kind, value in state.metadata.items()}
    for kind in OF_KEYS if state.keys else ():
        kept = row.metadata.get(kind, [])
        if kept and kind in found and _publishing(kind, kept) == _publishing(kind, found[kind]):
            found[kind] = kept
    return found


def _put_keyless(found: dict[str, list[str]], current: keyless.Keyless) -> None:
    """Set ALLOW-AXFR-FROM and ALSO-NOTIFY to the current values. Keep the client's spelling of unchanged values.

    Pages and API v2 can also change these networks and addresses.
    """
    for kind, values, check in (
        (ALLOW_AXFR_FROM, current.networks, checked_networks),
        (ALSO_NOTIFY, current.addresses, checked_addresses),
    ):
        if sorted(check(found.get(kind, []), {})) != sorted(values):
            found.pop(kind, None)
            if values:
                found[kind] = values


def _row(zone: Zone) -> PowerdnsZone:
    """Return the zone's stored attributes, or PowerDNS's defaults if none are stored."""
    return PowerdnsZone.objects.filter(pk=zone.pk).first() or PowerdnsZone(zone=zone)


def _by_kind(row: PowerdnsZone, zone: Zone, state: SigningState) -> dict[str, list[str]]:
    """Return the stored metadata, and the zone settings that PowerDNS treats as metadata, keyed by kind."""
    hidden = OF_KEYS if state.keys else frozenset()
    kept = {kind: values for kind, values in row.metadata.items() if kind not in hidden}
    found: dict[str, list[str]] = {**kept, **_of_signing(row, state)}
    if zone.soa_edit and found.get(SOA_EDIT, [""])[0] != zone.soa_edit:
        found[SOA_EDIT] = [zone.soa_edit]
    elif not zone.soa_edit:
        found.pop(SOA_EDIT, None)
    _put_keyless(found, keyless.keyless_of(zone))
    if zone.soa_edit_api:
        found[SOA_EDIT_API] = [zone.soa_edit_api]
    if (key_name := key_name_of(zone)) != "":
        found[AXFR_MASTER_TSIG] = [key_name]
    if row.api_rectify:
        found[API_RECTIFY] = ["1"]
    return found
