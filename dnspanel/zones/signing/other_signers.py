"""Add and remove keys of a zone's other signers (RFC 8901, model 2). Verbs.

Each signer has its own private keys, and signs the answers of its own servers. Each signer's DNSKEY RRset has the keys
of all signers. Resolvers can therefore validate one signer's answers with another signer's DNSKEY RRset.
"""

from collections.abc import Callable, Mapping

from dnspanel.accounts.actors.actors import Right
from dnspanel.accounts.audit import audit
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_files, queries
from dnspanel.zones.dnssec.other_keys import OtherKey, changes_in_step, keys_in, refusal_of
from dnspanel.zones.errors import BadPublicKey, DnssecRefused, KeyUnknown, NotSigned, RuleViolations
from dnspanel.zones.log.sequence_log import InTransaction, nothing
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.rights import access
from replication.dns import rdtypes
from replication.dns.names import before_full_stop
from replication.dns.rrset import Key, RRset, make

Decide = Callable[[list[OtherKey]], list[OtherKey]]


def add_other_key(*, zone: Zone, text: str, acting: Acting) -> Publication | None:
    """Add a key of another signer to the zone's answers, with its CDS and CDNSKEY if the zone has such records.

    `text` is a DNSKEY record of the zone, with its owner. Return None if the key already exists. Raise RightMissing if
    the author isn't allowed to sign the zone, NotSigned if it is unsigned, and BadPublicKey for an invalid `text`.

    Raise DnssecRefused for one of the panel's own keys, a key tag in use, too many keys, and if a node doesn't answer
    with such records. Also raise it if the zone doesn't use the key's algorithm, because each algorithm must sign all
    records (RFC 4035 2.2).
    """
    access.require_right(acting.author, zone, Right.DNSSEC)
    read = key_files.read_public(text)
    if read.owner != zone.name:
        raise BadPublicKey(
            gettext("The key belongs to {owner}, not to {name}.").format(
                owner=read.owner, name=before_full_stop(zone.name)
            )
        )
    key = OtherKey(read.flags, read.algorithm, read.public)

    def decide(keys: list[OtherKey]) -> list[OtherKey]:
        if key in keys:
            return keys
        state = queries.signing_of(zone)
        if not state.is_signed:
            raise NotSigned(zone.name)
        if refusal := refusal_of(zone.name, key, keys, queries.keys_of(zone, state)):
            raise DnssecRefused(refusal)
        return [*keys, key]

    return _publish(zone, decide, acting, "dnssec.other_key_add", key.tag)


def remove_other_key(
    *, zone: Zone, tag: int, acting: Acting, in_transaction: InTransaction = nothing
) -> Publication | None:
    """Remove a key of another signer from the zone's answers, with its CDS and CDNSKEY.

    `in_transaction` runs in the same transaction. Raise RightMissing, or KeyUnknown if no such key has this tag.
    """
    access.require_right(acting.author, zone, Right.DNSSEC)

    def decide(keys: list[OtherKey]) -> list[OtherKey]:
        left = [key for key in keys if key.tag != tag]
        if left == keys:
            raise KeyUnknown(zone.name, tag)
        return left

    return _publish(zone, decide, acting, "dnssec.other_key_remove", tag, in_transaction)


def _publish(
    zone: Zone, decide: Decide, acting: Acting, action: str, tag: int, in_transaction: InTransaction = nothing
) -> Publication | None:
    is_change = [False]

    def of_apex(current: Mapping[Key, RRset]) -> dict[Key, RRset | None]:
        # The zone is locked, so its signing cannot change before the publication.
        dnskey = current.get((zone.name, rdtypes.DNSKEY))
        ttl = _key_ttl(current.get((zone.name, rdtypes.SOA)))
        before = keys_in(dnskey)
        after = decide(before)
        is_change[0] = after != before
        if not is_change[0]:
            return {}
        texts = [key.dnskey for key in after]
        wanted = make(zone.name, rdtypes.DNSKEY, dnskey.ttl if dnskey else ttl, texts) if texts else None
        steps = changes_in_step(zone.name, current, queries.signing_of(zone), dnskey=wanted, ttl=ttl)
        return {change.key: change.after for change in steps}

    def note() -> None:
        in_transaction()
        if is_change[0]:
            audit.record(action=action, by=acting.author, now=acting.now, target=zone.name, tag=tag)

    try:
        outcome = zone_patches.publish_patches(
            patches=[zone_patches.Patch(zone, of_apex, {zone.name})], acting=acting, in_transaction=note
        )
    except RuleViolations as exc:  # a node does not answer with such key records
        raise DnssecRefused(exc.violations[0].message) from exc
    return outcome.publication


def _key_ttl(soa: RRset | None) -> int:
    """Return the TTL that PowerDNS uses for DNSKEY records: the MINIMUM of the SOA, or 3600 if `soa` is None."""
    return int(soa.rdata[0].split()[6]) if soa else 3600
