"""Zones that are served with the signatures that they came with: when these end, and how a zone loses them. Verbs.

The panel has no keys of such a zone, and PowerDNS signs nothing of it (its metadata PRESIGNED). Nothing in the zone can
change but by an import of all of it, with new signatures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.db import connection

from dnspanel.accounts import audit
from dnspanel.accounts.grants import Right
from dnspanel.zones import access, direct
from dnspanel.zones.dnssec.guarded import Acting
from dnspanel.zones.dnssec.other_keys import OF_SIGNER
from dnspanel.zones.dnssec.publish_state import record_states, with_row_ids
from dnspanel.zones.dnssec.queries import signing_of, signing_of_zones
from dnspanel.zones.dnssec.safety import refuse_bogus
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.nesting import ds_above
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset

# The fifth word of an RRSIG is its end, as YYYYMMDDHHMMSS, which sorts as time does (RFC 4034 section 3.2).
_END = """
SELECT min(split_part(text, ' ', 5)) FROM zones_rrset r, unnest(r.rdata) AS text
WHERE r.zone_id = %s AND r.type = %s"""


def signatures_end(zone: Zone) -> datetime | None:
    """When the first signature of the zone ends; None if it has none. Reads all of them."""
    with connection.cursor() as cursor:
        cursor.execute(_END, [zone.pk, rdtypes.RRSIG])
        [text] = cursor.fetchone()
    return end_of(text) if text else None


def end_of(text: str) -> datetime:
    """The time that this word of an RRSIG says."""
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def renew_presigned(*, zones: Sequence[tuple[int, int, Nsec3 | None]], now: datetime) -> None:
    """Zones (by id) that came signed have other signatures by the revision of this number, over this chain.

    In the transaction that publishes them, with their RRsets.
    """
    before = signing_of_zones([zone_id for zone_id, _, _ in zones])
    after = with_row_ids({zone_id: replace(before[zone_id], nsec3=nsec3) for zone_id, _, nsec3 in zones})
    changed = [each for each in zones if after[each[0]] != before[each[0]]]
    record_states([(zone_id, number, before[zone_id], after[zone_id]) for zone_id, number, _ in changed], now=now)


def drop_signatures(*, zone: Zone, acting: Acting) -> Publication | None:
    """The zone is served unsigned, without its RRSIG, DNSKEY, CDS and CDNSKEY records; large ones in pieces.

    Raises Unknown, RightMissing, NotSigned for a zone that did not come signed, and DnssecRefused while the zone above,
    here, holds a DS. A DS in a parent elsewhere has to be gone before: that is for the person to know.
    """
    access.require_right(acting.author, zone, Right.DNSSEC)
    _after(zone)

    def without_signatures(current: Mapping[Key, RRset]) -> dict[Key, RRset | None]:
        return {
            key: None for key in current if key[1] == rdtypes.RRSIG or (key[0] == zone.name and key[1] in OF_SIGNER)
        }

    def beside() -> None:
        before, after = _after(zone)
        revision = Zone.objects.values_list("revision", flat=True).get(pk=zone.pk)
        record_states([(zone.pk, revision + 1, before, after)], now=acting.now)
        audit.record(action="dnssec.drop_signatures", by=acting.author, now=acting.now, target=zone.name)

    outcome = direct.publish_patches(
        patches=[direct.Patch(zone, without_signatures, None, drops_signatures=True)],
        author=acting.author,
        channel=acting.channel,
        now=acting.now,
        reason=acting.reason,
        form_id=acting.form_id,
        alongside=beside,
    )
    return outcome.publication


def _after(zone: Zone) -> tuple[SigningState, SigningState]:
    """How the zone is signed, and how it will be without its signatures. Raises NotSigned, DnssecRefused."""
    before = signing_of(zone)
    if not before.presigned:
        raise NotSigned(zone.name)
    after = SigningState(row_ids=before.row_ids)
    above = ds_above([zone.name]).get(zone.name)
    refuse_bogus(zone, before, after, above.ds if above is not None else ())
    return before, after
