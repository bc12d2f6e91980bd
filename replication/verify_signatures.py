"""Prove that a PowerDNS signs its answers: signatures are present, valid now, and made with the zone's keys.

In a zone with active keys three RRsets are queried with EDNS DO: the SOA, one changed RRset, and the DNSKEY. One of the
zone's own keys has to sign the DNSKEY. If an RRset was deleted, its denial has to be signed and valid. Otherwise, if an
NSEC3 chain or only the signing changed, the denial of a name that never existed is checked. The digest proves that the
keys are the panel's keys.

Zones without active keys are not queried. dnspython's DNSSEC part is loaded only when it is first needed, which saves
memory on most nodes.
"""

import base64
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from replication import stats, verify
from replication.codec import keys
from replication.compile import HELPER
from replication.dns import names, rdtypes
from replication.errors import NotServed
from replication.store.store import Store
from replication.wire.operations import ZoneMark

if TYPE_CHECKING:
    from dns.rdtypes.ANY.NSEC import NSEC
    from dns.rdtypes.ANY.NSEC3 import NSEC3
    from dns.rdtypes.ANY.RRSIG import RRSIG

# At most this many zones of one push are validated. If there are more, an even selection is validated.
MAX_ZONES = 16
# The end of `NotServed.question` in errors about signatures and denials.
WITH_DNSSEC = " with DNSSEC"
_NEGATIVE = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)

_DNSKEY = 48


def signed_marks(store: Store, marks: Iterable[ZoneMark]) -> list[ZoneMark]:
    """Return the marks whose zones PowerDNS signs: at most MAX_ZONES of them, evenly spread."""
    served = [mark for mark in marks if mark.serial is not None]
    signed = store.signed_zones(mark.name for mark in served)
    found = [mark for mark in served if mark.name in signed]
    return found[:: -(-len(found) // MAX_ZONES)] if found else []


def verify_signatures(  # noqa: PLR0913  # what is verified, and against which server
    store: Store,
    marks: Iterable[ZoneMark],
    record_keys: Iterable[bytes],
    address: str,
    port: int,
    *,
    now: float,
    seconds: float,
) -> None:
    """Verify the signatures of at most MAX_ZONES signed zones: DNSKEY, SOA, one changed RRset, and a denial.

    A denial is checked only in the cases that the module's docstring lists. Raise NotServed for the first signature or
    denial that is missing, not valid now, or not made with a key of the zone.
    """
    signed = signed_marks(store, marks)
    if not signed:
        return
    deadline = time.monotonic() + seconds
    changes = _changes(store, signed, record_keys)
    for mark in signed:
        asker = _Asker(mark.name, address, port, now, deadline)
        asker.verify(mark.name, rdtypes.SOA)
        change = changes[mark.name]
        if change.changed is not None:
            asker.verify(*change.changed)
        if change.deleted is not None:
            asker.verify_denial(*change.deleted)
        elif change.moves_chain or change.changed is None:
            asker.verify_denial(f"absent-{secrets.token_hex(4)}.{mark.name.lstrip('.')}", rdtypes.A)


def complaint_of(
    zone: str, questions: Iterable[tuple[str, int]], address: str, port: int, *, now: float, seconds: float
) -> NotServed | None:
    """Check the signatures and denials in the answers to these queries (name, type).

    Return the first error as a NotServed, or None if all are valid. The zone's DNSKEY RRset is checked before the
    queries. If no answer arrives, raise NotServed instead, because a missing answer says nothing about signatures.
    """
    try:
        asker = _Asker(zone, address, port, now, time.monotonic() + seconds)
        for name, type in questions:
            asker.verify_either(name, type)
    except NotServed as exc:
        if not exc.question.endswith(WITH_DNSSEC):
            raise
        return exc
    return None


@dataclass(slots=True)
class _Change:
    """The RRsets to query in a changed zone: an existing RRset other than the SOA, and a deleted RRset."""

    changed: tuple[str, int] | None = None
    deleted: tuple[str, int] | None = None
    moves_chain: bool = False  # links of an NSEC3 chain came or went


def _changes(store: Store, marks: Iterable[ZoneMark], record_keys: Iterable[bytes]) -> dict[str, _Change]:
    """Return the existing and the deleted RRset to query, keyed by zone name."""
    zones = {store.zone_id(mark.name): mark for mark in marks}
    found = {mark.name: _Change() for mark in zones.values()}
    for key in record_keys:
        zone_id, _, type = keys.decode_record_key(key)
        mark = zones.get(zone_id)
        if mark is None or type == rdtypes.SOA:
            continue
        change = found[mark.name]
        if type == HELPER:
            change.moves_chain = True
        elif change.changed is None or change.deleted is None:
            for expected in verify.expectations(store, (), (key,)):
                if expected.rdata and not expected.answered_by and change.changed is None:
                    change.changed = expected.name, expected.type
                elif not expected.rdata and change.deleted is None:
                    change.deleted = expected.name, expected.type
    return found


class _Asker:
    """A client that queries a zone's RRsets and validates them with the zone's DNSKEY RRset."""

    def __init__(self, zone: str, address: str, port: int, now: float, deadline: float) -> None:
        self._zone, self._address, self._port, self._now, self._deadline = zone, address, port, now, deadline
        self._apex = _name(zone)
        self._keys, signatures = self._ask(zone, _DNSKEY)
        self._validate(zone, _DNSKEY, self._keys, signatures)

    def verify(self, name: str, type: int) -> None:
        """Raise NotServed unless the answer contains this RRset with a valid signature."""
        self._validate(name, type, *self._ask(name, type))

    def verify_either(self, name: str, type: int) -> None:
        """Check the RRset's signature if the answer contains the RRset, and the denial otherwise.

        Raise the errors of `verify` or `verify_denial`.
        """
        if verify.rrset_in(self._answer(name, type), name, type) is not None:
            self.verify(name, type)
        else:
            self.verify_denial(name, type)

    def verify_denial(self, name: str, type: int) -> None:
        """Raise NotServed unless a negative answer for this RRset is signed, and proves that the RRset doesn't exist.

        A failure that only occurs with DNSSEC is also an error, because it shows that PowerDNS doesn't find a link of
        the chain. Other answers (from a wildcard, an alias, or a delegation) are not checked.
        """
        answer = self._answer(name, type)
        if answer.rcode() == dns.rcode.SERVFAIL and self._answer(name, type, dnssec=False).rcode() in _NEGATIVE:
            raise self._not_served(name, type, "SERVFAIL, while without DNSSEC it says that there is none")
        rrsets = [each for each in answer.authority if each.rdtype != dns.rdatatype.RRSIG]
        if answer.answer or not any(each.rdtype == rdtypes.SOA and each.name == self._apex for each in rrsets):
            return
        for rrset in rrsets:
            signatures = _signatures_of(rrset, answer.authority)
            if signatures is None:
                raise self._not_served(name, type, f"no RRSIG of the {rrset.rdtype.name} of {rrset.name}")
            self._refuse_untimely(name, type, signatures)
            self._validate(name, type, rrset, signatures)
        if not _denies(_name(name), type, self._apex, rrsets):
            raise self._not_served(name, type, "no proof that there is none")

    def _answer(self, name: str, type: int, *, dnssec: bool = True) -> dns.message.Message:
        stats.OWN_QUESTIONS.add()
        left = max(0.1, self._deadline - time.monotonic())
        return verify.ask(self._address, self._port, name, type, left, dnssec=dnssec)

    def _ask(self, name: str, type: int) -> tuple[dns.rrset.RRset, dns.rrset.RRset]:
        """Query an RRset and return it with its signatures. Raise NotServed unless all are present and valid now."""
        answer = self._answer(name, type)
        rrset = verify.rrset_in(answer, name, type)
        if rrset is None:
            raise self._not_served(name, type, f"no such RRset ({answer.rcode().name})")
        signatures = _signatures_of(rrset, answer.answer)
        if signatures is None:
            raise self._not_served(name, type, "no RRSIG")
        self._refuse_untimely(name, type, signatures)
        return rrset, signatures

    def _refuse_untimely(self, name: str, type: int, signatures: "Iterable[RRSIG]") -> None:
        for signature in signatures:
            if not signature.inception <= self._now <= signature.expiration:
                times = f"{_utc(signature.inception)} to {_utc(signature.expiration)}"
                raise self._not_served(name, type, f"an RRSIG that is good from {times}")

    def _validate(self, name: str, type: int, rrset: dns.rrset.RRset, signatures: dns.rrset.RRset) -> None:
        import dns.dnssec

        try:
            dns.dnssec.validate(rrset, signatures, {self._apex: self._keys}, now=self._now)
        except dns.exception.DNSException as exc:
            raise self._not_served(name, type, f"a signature that is bogus ({exc or exc.__class__.__name__})") from exc

    def _not_served(self, name: str, type: int, found: str) -> NotServed:
        question = f"{name} {dns.rdatatype.to_text(dns.rdatatype.RdataType.make(type))}{WITH_DNSSEC}"
        return NotServed(question=question, expected="a good signature of its zone", found=found)


def _signatures_of(rrset: dns.rrset.RRset, section: Iterable[dns.rrset.RRset]) -> dns.rrset.RRset | None:
    of = rrset.name, dns.rdatatype.RRSIG, rrset.rdtype
    return next((each for each in section if (each.name, each.rdtype, each.covers) == of), None)


def _denies(name: dns.name.Name, type: int, apex: dns.name.Name, rrsets: Sequence[dns.rrset.RRset]) -> bool:
    """Return True if one of these NSEC or NSEC3 records proves that the name or type doesn't exist.

    An NSEC3 can also prove that one of the name's ancestors doesn't exist (RFC 5155 section 8.4).
    """
    for rrset in rrsets:
        record = rrset[0]
        if rrset.rdtype == dns.rdatatype.NSEC:
            if rrset.name == name:
                return not _has_type(record, type)
            if rrset.name < name and (name < record.next or record.next == apex):
                return True
        elif rrset.rdtype == dns.rdatatype.NSEC3:
            owner = base64.b32hexdecode(rrset.name.labels[0], casefold=True)
            above: dns.name.Name = name
            while above == name or above != apex:
                name_hash = _hash(above, record)
                if owner == name_hash and above == name:
                    return not _has_type(record, type)
                if owner < name_hash < record.next or (record.next <= owner and not record.next <= name_hash <= owner):
                    return True
                if above == apex:
                    break
                above = above.parent()
    return False


def _hash(name: dns.name.Name, record: "NSEC3") -> bytes:
    import dns.dnssec

    return base64.b32hexdecode(dns.dnssec.nsec3_hash(name, record.salt, record.iterations, record.algorithm))


def _has_type(record: "NSEC | NSEC3", type: int) -> bool:
    window, bit = divmod(type, 256)
    at, mask = bit // 8, 0x80 >> bit % 8
    return any(number == window and at < len(bits) and bits[at] & mask for number, bits in record.windows)


def _name(name: str) -> dns.name.Name:
    return dns.name.from_wire(names.to_wire(name), 0)[0]


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
