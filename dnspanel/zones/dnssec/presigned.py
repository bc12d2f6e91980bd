"""Zones that are served with the signatures that they came with: when these end, and how a zone loses them. Verbs.

The panel has no keys of such a zone, and PowerDNS signs nothing of it (its metadata PRESIGNED). Nothing in the zone can
change but by an import of all of it, with new signatures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from dnspanel.accounts import audit
from dnspanel.accounts.grants import Right
from dnspanel.zones import access, direct
from dnspanel.zones.dnssec.guarded import Acting
from dnspanel.zones.dnssec.other_keys import OF_SIGNER
from dnspanel.zones.dnssec.publish_state import record_ends, record_states, with_row_ids
from dnspanel.zones.dnssec.queries import signing_of, signing_of_zones
from dnspanel.zones.dnssec.safety import refuse_bogus
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Publication, Signing, Zone
from dnspanel.zones.nesting import ds_above
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset

# Signatures that end within this are to be made anew.
ENDS_SOON = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Renewed:
    """Other signatures of a zone that came signed: its revision that has them, over which chain, until when."""

    zone_id: int
    revision: int
    nsec3: Nsec3 | None
    end: datetime


def signatures_end(zone: Zone) -> datetime | None:
    """When the first signature ends of a zone that came with them; None for any other."""
    return Signing.objects.filter(pk=zone.pk).values_list("signatures_end", flat=True).first()


def end_of(text: str) -> datetime:
    """The time that the fifth word of an RRSIG says (RFC 4034 section 3.2)."""
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def renew_presigned(*, zones: Sequence[Renewed], now: datetime) -> None:
    """Zones that came signed have other signatures. In the transaction that publishes them, with their RRsets."""
    before = signing_of_zones([each.zone_id for each in zones])
    after = with_row_ids({each.zone_id: replace(before[each.zone_id], nsec3=each.nsec3) for each in zones})
    changed = [each for each in zones if after[each.zone_id] != before[each.zone_id]]
    record_states(
        [(each.zone_id, each.revision, before[each.zone_id], after[each.zone_id]) for each in changed], now=now
    )
    record_ends({each.zone_id: each.end for each in zones})


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
        record_ends({zone.pk: None})
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
