"""Check that a zone file's signatures belong to the zone, and find the chain that they cover.

RRSIGs are kept at their owners, and RRSIGs over NSEC3 at the hashed labels. NSEC and NSEC3 records are left out,
because PowerDNS creates them from the file's parameters. The signatures remain valid for these records.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from dnspanel.texts import gettext
from dnspanel.transfer.documents import MOST_OTHER_CHAINS, BroughtSignatures, ReadyRRset
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.zonefile_chain import chain_fault
from dnspanel.transfer.zonefile.zonefile_content import APEX, type_tail
from dnspanel.transfer.zonefile.zonefile_tokens import Unreadable
from dnspanel.zones.dnssec.key_material import key_tag
from dnspanel.zones.dnssec.other_keys import OF_SIGNER, read_dnskey
from dnspanel.zones.dnssec.signing_state import read_nsec3param
from dnspanel.zones.errors import BadPublicKey, DnssecRefused
from dnspanel.zones.signing.sign import refuse_nsec3
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes

_TAIL = type_tail(rdtypes.RRSIG)
_AT_APEX = APEX + _TAIL


def signatures_of(reader: Reader) -> BroughtSignatures | None:
    """Return the signing data of a signed zone, without its chain, which `with_chain` adds.

    The zone counts as signed if its SOA and its DNSKEY each have a signature that names the zone as its signer and the
    tag of one of its keys. Give each owner's RRSIGs in the reader one TTL (`_take_least_ttls`). If the zone isn't
    signed, warn, discard its DNSSEC records and return None.
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
        reason = gettext(
            "The zone is imported without signatures because its SOA or DNSKEY has no RRSIG from one of its keys."
        )
        reader.warn(None, Unreadable(reason, "signatures-missing"))
        return None
    _take_least_ttls(reader)
    ends = [text.split(" ", 5)[4] for record in _records(reader) for text in _texts(reader, record)]
    return BroughtSignatures(None, entries, min(ends))


def with_chain(reader: Reader, brought: BroughtSignatures, rrsets: Sequence[ReadyRRset]) -> BroughtSignatures:
    """Return the signatures with the parameters of the chain that they cover.

    Report an error unless the chain that PowerDNS creates equals one of the file's chains. NSEC3 is not checked if the
    file has no NSEC3 parameters and no NSEC records.
    """
    fault: Unreadable | None = None
    if not reader.chain.parameters and not reader.chain.nsec and _covers_nsec3(rrsets):
        return replace(brought, nsec3_elsewhere=True)
    for candidate in reader.chain.candidates():
        try:
            nsec3 = None if candidate is None else _require_servable(candidate)
        except (ValueError, DnssecRefused) as exc:
            fault = fault or Unreadable(
                gettext("the zone’s NSEC3 parameters can’t be served: {exc}").format(exc=exc), "nsec3-parameters"
            )
            continue
        if not (reason := chain_fault(reader.zone, rrsets, nsec3, reader.chain)):
            return replace(brought, nsec3=nsec3, other_nsec3=_others(reader, nsec3))
        fault = fault or Unreadable(reason, "signatures-chain")
    if fault is not None:
        reader.report(None, fault)
    return brought


def _others(reader: Reader, chosen: Nsec3 | None) -> tuple[Nsec3, ...]:
    """Return the zone's other NSEC3 chains that can be served, at most MOST_OTHER_CHAINS."""
    found = []
    for candidate in filter(None, reader.chain.candidates()):
        with suppress(ValueError, DnssecRefused):
            found.append(_require_servable(candidate))
    return tuple(each for each in found if each != chosen)[:MOST_OTHER_CHAINS]


def _require_servable(candidate: tuple[str, str, bool]) -> Nsec3:
    """Return a chain's parameters. Raise ValueError or DnssecRefused if the chain cannot be served."""
    iterations, salt, opt_out = candidate
    found = read_nsec3param(f"1 {int(opt_out)} {iterations} {salt}", narrow=False)
    refuse_nsec3(found)
    return found


def _covers_nsec3(rrsets: Sequence[ReadyRRset]) -> bool:
    signatures = (rrset for rrset in rrsets if rrset.type == rdtypes.RRSIG)
    return any(text.startswith("NSEC3 ") for rrset in signatures for text in rrset.texts)


def _records(reader: Reader) -> list[bytes]:
    return [record for record in reader.content.sets if record.endswith(_TAIL)]


def _texts(reader: Reader, record: bytes) -> Iterator[str]:
    """Yield the rdata of an RRset that isn't complete yet. Yield nothing if the RRset does not exist."""
    known = reader.content.more.get(record)
    if known is not None:
        yield from (text for text, _ in known.values())
    elif record in reader.content.sets:
        yield from reader.content.sets[record].texts


def _take_least_ttls(reader: Reader) -> None:
    """Set each owner's RRSIGs to the lowest of their TTLs, because they are one RRset here and in answers.

    An RRSIG normally has the TTL of the RRset that it covers (RFC 4034 section 3). `SignedTtls` restores that TTL when
    the zone is transferred or exported.
    """
    content = reader.content
    for record in _records(reader):
        rrset = content.sets[record]
        content.other_ttls.pop(record, None)
        content.low_ttls.discard(record)
        content.sets[record] = rrset._replace(ttl=reader.least_ttls.get(record, rrset.ttl))


def _leave_out(reader: Reader) -> None:
    content = reader.content
    for record in (*_records(reader), *(APEX + type_tail(type) for type in sorted(OF_SIGNER))):
        if record in content.sets:
            type, place = content.sets[record].type, content.places[record]
            count, first = reader.left_out.get(type, (0, place))
            reader.left_out[type] = count + sum(1 for _ in _texts(reader, record)), min(first, place)
            content.remove(record)
