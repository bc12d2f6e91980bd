"""Sign zones from their first revision on, with imported keys or as policies require. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.zones.dnssec.key_material import KeyPair, generate, is_named_by
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_queries import applied_to_zones
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.dnssec.wildcard_cuts import refuse_wildcard_cuts, wildcard_cuts
from dnspanel.zones.log.signing_log import key_row, record_ends, record_states, with_row_ids
from dnspanel.zones.models import DnssecPolicy, Zone, ZoneKey
from replication.codec.dnssec import Nsec3


@dataclass(frozen=True, slots=True)
class BroughtKey:
    """A key imported together with a new zone."""

    pair: KeyPair
    flags: int
    active: bool
    published: bool

    @property
    def is_seen(self) -> bool:
        """True if the key signs and is in the DNSKEY RRset."""
        return self.active and self.published


@dataclass(frozen=True, slots=True)
class BroughtSigning:
    """The DNSSEC signing that a new zone had at its source.

    `keys` has at least one key, unless the zone is `presigned`. A `presigned` zone has signatures but no keys.
    `entries` then has the keys in its DNSKEY records, and `end` is the earliest expiration of its signatures.
    """

    keys: tuple[BroughtKey, ...]
    nsec3: Nsec3 | None = None
    cds: str = ""
    cdnskey: bool = False
    presigned: bool = False
    entries: tuple[OtherKey, ...] = ()
    end: datetime | None = None
    other_nsec3: tuple[Nsec3, ...] = ()

    def is_named_by(self, zone: str, ds: Sequence[str]) -> bool:
        """Return True if a DS matches an active, published key, or, for a presigned zone, any of its DNSKEYs."""
        seen = [OtherKey(key.flags, key.pair.algorithm, key.pair.public) for key in self.keys if key.is_seen]
        return any(is_named_by(zone, each.flags, each.algorithm, each.public, ds) for each in (*seen, *self.entries))


def record_first_signings(
    *, zones: Sequence[tuple[int, BroughtSigning]], author: Author, now: datetime, action: str = "dnssec.import"
) -> None:
    """Record new zones (by id) as signed in their first revision, in the caller's transaction.

    Raise RuleViolations if a zone delegates a wildcard and isn't presigned.
    """
    refuse_wildcard_cuts(wildcard_cuts([zone_id for zone_id, signing in zones if not signing.presigned]).values())
    rows = [
        key_row(zone_id=zone_id, flags=key.flags, pair=key.pair, author=author, now=now)
        for zone_id, signing in zones
        for key in signing.keys
    ]
    made = iter(ZoneKey.objects.bulk_create(rows))
    states = with_row_ids(
        {
            zone_id: SigningState(
                tuple(
                    KeyState(next(made).pk, key.pair.algorithm, key.flags, key.active, key.published)
                    for key in signing.keys
                ),
                signing.nsec3,
                signing.cds,
                signing.cdnskey,
                presigned=signing.presigned,
                other_nsec3=signing.other_nsec3,
            )
            for zone_id, signing in zones
        }
    )
    record_states([(zone_id, 1, None, state) for zone_id, state in states.items()], now=now)
    record_ends({zone_id: signing.end for zone_id, signing in zones if signing.end is not None})
    audit.record(action=action, by=author, now=now, zones=len(zones), keys=len(rows))


def sign_new_zones(*, zone_ids: Sequence[int], author: Author, now: datetime) -> None:
    """Sign new zones with new keys in their first revision, if their policies require this.

    Call this function in the transaction that publishes the revision. The creator of a zone doesn't need the right to
    sign it, because the panel itself signs.
    """
    if not DnssecPolicy.objects.filter(signs_new_zones=True).exists():
        return
    applied = applied_to_zones(list(Zone.objects.filter(pk__in=zone_ids).order_by("pk")))
    signings = [(zone_id, _of_terms(each.terms)) for zone_id, each in applied.items() if each.terms.signs_new_zones]
    if signings:
        record_first_signings(zones=signings, author=author, now=now, action="dnssec.policy")


def _of_terms(terms: Terms) -> BroughtSigning:
    keys = [(flags, generate(terms.algorithm, terms.bits)) for flags in terms.key_flags]
    return BroughtSigning(
        tuple(BroughtKey(pair, flags, active=True, published=True) for flags, pair in keys),
        terms.nsec3,
        terms.cds,
        terms.cdnskey,
    )
