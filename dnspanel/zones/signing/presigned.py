"""Track when signatures in presigned zones expire, and drop or renew these signatures. Verbs.

A presigned zone is served with its original signatures. The panel has no keys for it, and PowerDNS does not sign it
(metadata PRESIGNED). To change the zone, import the whole zone with new signatures, or drop the signatures first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from dnspanel.accounts.actors.actors import Right
from dnspanel.accounts.audit import audit
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.other_keys import OF_SIGNER
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.signing_state import UNSIGNED, SigningState
from dnspanel.zones.errors import DnssecRefused, NotSigned
from dnspanel.zones.log.sequence_log import InTransaction, nothing
from dnspanel.zones.log.signing_log import record_ends, record_states, with_row_ids
from dnspanel.zones.models import Publication, Signing, Zone
from dnspanel.zones.names.nesting import ds_above
from dnspanel.zones.publishing import pieces, zone_patches
from dnspanel.zones.rights import access
from dnspanel.zones.signing.safety import refuse_bogus
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset

# Signatures that end within this time must be renewed.
ENDS_SOON = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Renewed:
    """A presigned zone's new signatures: the revision, the NSEC3 chains, and the earliest expiration time.

    `nsec3` is the chain that PowerDNS uses. `other_nsec3` has further chains.
    """

    zone_id: int
    revision: int
    nsec3: Nsec3 | None
    end: datetime
    other_nsec3: tuple[Nsec3, ...] = ()


def signatures_end(zone: Zone) -> datetime | None:
    """Return the earliest expiration time of a presigned zone's signatures, or None for any other zone."""
    return Signing.objects.filter(pk=zone.pk).values_list("signatures_end", flat=True).first()


def end_of(text: str) -> datetime:
    """Parse the expiration field of an RRSIG (YYYYMMDDHHmmSS, RFC 4034 section 3.2)."""
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def renew_presigned(*, zones: Sequence[Renewed], now: datetime) -> None:
    """Record the new signatures of presigned zones, and end a pause of the denial of existence.

    Call this in the transaction that publishes the RRsets.
    """
    before = signing_of_zones([each.zone_id for each in zones])
    after = with_row_ids(
        {
            each.zone_id: replace(before[each.zone_id], nsec3=each.nsec3, other_nsec3=each.other_nsec3, paused=False)
            for each in zones
        }
    )
    changed = [each for each in zones if after[each.zone_id] != before[each.zone_id]]
    record_states(
        [(each.zone_id, each.revision, before[each.zone_id], after[each.zone_id]) for each in changed], now=now
    )
    record_ends({each.zone_id: each.end for each in zones})


def drop_signatures(
    *, zones: Sequence[Zone], acting: Acting, in_transaction: InTransaction = nothing
) -> Publication | None:
    """Delete the original signatures and key records of these presigned zones. If any zone fails, change none.

    These are the RRSIG, DNSKEY, CDS, CDNSKEY and signing-state records. The zones are then served unsigned. Publish
    once, or in pieces if one zone is large. Return the last publication, or None if the zones have no such records.
    Raise Unknown for a deleted zone, RightMissing, and NotSigned for a zone that isn't presigned. Raise DnssecRefused
    if a parent zone in this panel has a DS, or if several zones have too many RRsets. A person has to check parent
    zones outside the panel. `in_transaction` runs in the same (last) transaction.
    """
    for zone in zones:
        access.require_right(acting.author, zone, Right.DNSSEC)
    if len(zones) > 1 and sum(zone.rrset_count for zone in zones) > pieces.PIECE_RRSETS:
        raise DnssecRefused(
            gettext("The selected zones have too many RRsets. Delete the signatures for one zone at a time.")
        )
    without_signatures(zones)

    def write_rest() -> None:
        in_transaction()
        states = without_signatures(zones)
        rows = Zone.objects.filter(pk__in=list(states)).values_list("pk", "revision")
        record_states([(zone_id, revision + 1, *states[zone_id]) for zone_id, revision in rows], now=acting.now)
        record_ends(dict.fromkeys(states))
        audit.record_each(
            action="dnssec.drop_signatures", by=acting.author, now=acting.now, targets={zone.name: {} for zone in zones}
        )

    outcome = zone_patches.publish_patches(
        patches=[zone_patches.Patch(zone, _without_signatures(zone), None, drops_signatures=True) for zone in zones],
        acting=acting,
        in_transaction=write_rest,
    )
    return outcome.publication


def without_signatures(zones: Sequence[Zone]) -> dict[int, tuple[SigningState, SigningState]]:
    """Return each zone's signing state before and after its original signatures are dropped. Write nothing.

    Raise NotSigned for a zone that isn't presigned, and DnssecRefused while a parent zone in this panel has a DS.
    """
    states = signing_of_zones([zone.pk for zone in zones])
    above = ds_above([zone.name for zone in zones])
    found = {}
    for zone in zones:
        before = states.get(zone.pk, UNSIGNED)
        if not before.presigned:
            raise NotSigned(zone.name)
        after = SigningState(row_ids=before.row_ids)
        refuse_bogus(zone, before, after, above[zone.name].ds if zone.name in above else ())
        found[zone.pk] = before, after
    return found


def _without_signatures(zone: Zone) -> zone_patches.Decide:
    def decide(current: Mapping[Key, RRset]) -> dict[Key, RRset | None]:
        return {
            (name, type): None
            for name, type in current
            if type == rdtypes.RRSIG or (name == zone.name and type in OF_SIGNER)
        }

    return decide
