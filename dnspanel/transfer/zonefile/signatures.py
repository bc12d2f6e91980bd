"""The signatures that a zone file brings, where they are to be kept: whether they are those of the zone, and its chain.

RRSIGs stay at their owners, those over NSEC3 at the labels of the hashes. NSEC and NSEC3 are left out: PowerDNS makes
them, with the parameters that the file names, so that the signatures are right.
"""

from collections.abc import Iterator, Sequence

from dnspanel.transfer.documents import BroughtSignatures, ReadyRRset
from dnspanel.transfer.zone_changes import rrset_of
from dnspanel.transfer.zonefile.content import APEX, type_tail
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.tokens import Unreadable
from dnspanel.zones.dnssec.key_material import key_tag
from dnspanel.zones.dnssec.other_keys import OF_KEYS, read_dnskey
from dnspanel.zones.dnssec.sign import refuse_nsec3
from dnspanel.zones.dnssec.signing_state import read_nsec3param
from dnspanel.zones.errors import BadPublicKey, DnssecRefused
from replication.codec import values
from replication.codec.dnssec import Nsec3
from replication.codec.keys import name_from_relative_key
from replication.codec.values import ENT
from replication.compile import HELPER, compile_zone
from replication.compile.denial import is_like_hash
from replication.dns import rdtypes

_TAIL = type_tail(rdtypes.RRSIG)
_AT_APEX = APEX + _TAIL


def signatures_of(reader: Reader) -> BroughtSignatures | None:
    """What the zone brings; None if it is not signed, and then nothing is left of what it has of signatures.

    It is signed if its SOA and its DNSKEY have each a signature that names the zone and a key of its DNSKEY.
    """
    entries = tuple(_texts(reader, APEX + type_tail(rdtypes.DNSKEY)))
    tags = set()
    for text in entries:
        try:
            key = read_dnskey(text)
            tags.add((str(key.algorithm), str(key_tag(key.flags, key.algorithm, key.public))))
        except BadPublicKey:
            continue
    signed = set()
    for text in _texts(reader, _AT_APEX):
        type, algorithm, _, _, _, _, tag, signer, *_ = text.split()
        if signer == reader.zone and (algorithm, tag) in tags:
            signed.add(type)
    if not {"SOA", "DNSKEY"} <= signed:
        _leave_out(reader)
        reason = (
            "the zone is not signed: its SOA and its DNSKEY have no RRSIG by a key of its DNSKEY; it is imported "
            "without signatures"
        )
        reader.warn(None, Unreadable(reason, "signatures-missing"))
        return None
    _take_least_ttls(reader)
    ends = [text.split(" ", 5)[4] for record in _records(reader) for text in _texts(reader, record)]
    return BroughtSignatures(_nsec3(reader), entries, min(ends))


def report_chain(reader: Reader, brought: BroughtSignatures, rrsets: Sequence[ReadyRRset]) -> None:
    """An error unless PowerDNS makes the chain that is signed; not of NSEC3 whose parameters are elsewhere."""
    if brought.nsec3 is not None or not _covered(rrsets, "NSEC3 "):
        fault = chain_fault(reader.zone, rrsets, brought.nsec3)
        if fault:
            reader.report(None, Unreadable(fault, "signatures-chain"))


def chain_fault(zone: str, rrsets: Sequence[ReadyRRset], nsec3: Nsec3 | None) -> str:
    """Why the signatures are not over exactly the NSEC or NSEC3 records that PowerDNS will make; "" if they are.

    PowerDNS hashes an insecure delegation that has an address at its own name even with opt-out, as few signers do.
    """
    type = "NSEC" if nsec3 is None else "NSEC3"
    odd = sorted(_chain_made(zone, rrsets, nsec3) ^ _covered(rrsets, type + " "))
    if not odd:
        return ""
    example = name_from_relative_key(odd[0], zone)
    return (
        f"its {type} records are others than those that PowerDNS makes, at {len(odd):,} names (such as {example}): it "
        "cannot be served with its signatures"
    )


def _covered(rrsets: Sequence[ReadyRRset], covers: str) -> set[bytes]:
    """The relative keys at which a signature is of this type."""
    signatures = (rrset for rrset in rrsets if rrset.type == rdtypes.RRSIG)
    return {rrset.key for rrset in signatures if any(text.startswith(covers) for text in rrset.texts)}


def _chain_made(zone: str, rrsets: Sequence[ReadyRRset], nsec3: Nsec3 | None) -> set[bytes]:
    """Where PowerDNS will have NSEC, or NSEC3: relative keys."""
    rows = compile_zone(zone, map(rrset_of, rrsets), nsec3)
    if nsec3 is not None:
        return {rel for rel, type, _ in rows if type == HELPER and is_like_hash(rel)}
    found: set[bytes] = set()
    cut: bytes | None = None
    for rel, type, body in rows:  # sorted: a delegation is before what is below it
        if type in (ENT, rdtypes.RRSIG) or (cut is not None and rel != cut and rel.startswith(cut)):
            continue
        found.add(rel)
        if type == rdtypes.NS and not values.first_flags(body)[0]:
            cut = rel
    return found


def _nsec3(reader: Reader) -> Nsec3 | None:
    if not reader.nsec3_parameters:
        return None
    _, iterations, salt = reader.nsec3_parameters[0]
    try:
        found = read_nsec3param(f"1 {int(reader.has_opt_out)} {iterations} {salt}", narrow=False)
        refuse_nsec3(found)
    except (ValueError, DnssecRefused) as exc:
        reason = f"the parameters of its NSEC3 cannot be served: {exc}"
        reader.report(None, Unreadable(reason, "nsec3-parameters"))
        return None
    return found


def _records(reader: Reader) -> list[bytes]:
    return [record for record in reader.content.sets if record.endswith(_TAIL)]


def _texts(reader: Reader, record: bytes) -> Iterator[str]:
    """The rdata of an RRset that is being read."""
    known = reader.content.more.get(record)
    if known is not None:
        yield from (text for text, _ in known.values())
    elif record in reader.content.sets:
        yield from reader.content.sets[record].texts


def _take_least_ttls(reader: Reader) -> None:
    """All RRSIGs of an owner are one RRset, while each has the TTL of what it signs."""
    content = reader.content
    for record in _records(reader):
        rrset = content.sets[record]
        content.other_ttls.pop(record, None)
        content.low_ttls.discard(record)
        content.sets[record] = rrset._replace(ttl=min(rrset.ttl, reader.least_ttls.get(record, rrset.ttl)))


def _leave_out(reader: Reader) -> None:
    content = reader.content
    for record in (*_records(reader), *(APEX + type_tail(type) for type in sorted(OF_KEYS))):
        if record in content.sets:
            type, place = content.sets[record].type, content.places[record]
            count, first = reader.left_out.get(type, (0, place))
            reader.left_out[type] = count + sum(1 for _ in _texts(reader, record)), min(first, place)
            content.remove(record)
