"""Prove that a PowerDNS signs what it answers: its signatures are there, valid now, and made with the zone's keys.

Of a zone with active keys three RRsets are asked for with EDNS DO: DNSKEY, which has to be signed by one of its own
keys, the SOA, and one that was changed. That the keys are those the panel meant is what the digest says.

Zones without active keys are not asked for. dnspython's part for DNSSEC is loaded when it is needed first: most nodes
can do without its memory.
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import dns.exception
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset

from replication import stats, verify
from replication.codec import keys
from replication.dns import names, rdtypes
from replication.errors import NotServed
from replication.store.store import Store
from replication.wire.operations import ZoneMark

if TYPE_CHECKING:
    from dns.rdtypes.ANY.RRSIG import RRSIG

# So many zones of one push are validated; of more, an even selection.
MAX_ZONES = 16

_DNSKEY = 48


def signed_marks(store: Store, marks: Iterable[ZoneMark]) -> list[ZoneMark]:
    """The zones among these that PowerDNS signs, at most MAX_ZONES, evenly from all of them."""
    served = [mark for mark in marks if mark.serial is not None]
    signed = store.signed_zones(mark.name for mark in served)
    found = [mark for mark in served if mark.name in signed]
    return found[:: -(-len(found) // MAX_ZONES)] if found else []


def verify_signatures(
    store: Store,
    marks: Iterable[ZoneMark],
    record_keys: Iterable[bytes],
    address: str,
    port: int,
    *,
    now: float,
    seconds: float,
) -> None:
    """Ask for the signatures of these zones, and of an RRset of each that is among `record_keys`.

    Raises NotServed for the first that is missing, out of its time, or not made with a key of the zone.
    """
    signed = signed_marks(store, marks)
    if not signed:
        return
    deadline = time.monotonic() + seconds
    changed = _changed_rrsets(store, signed, record_keys)
    for mark in signed:
        asker = _Asker(mark.name, address, port, now, deadline)
        asker.verify(mark.name, rdtypes.SOA)
        if mark.name in changed:
            asker.verify(*changed[mark.name])


def _changed_rrsets(
    store: Store, marks: Iterable[ZoneMark], record_keys: Iterable[bytes]
) -> dict[str, tuple[str, int]]:
    """One RRset beside the SOA for each of these zones that has one: its name and type, by zone."""
    zones = {store.zone_id(mark.name): mark for mark in marks}
    found: dict[str, tuple[str, int]] = {}
    for key in record_keys:
        zone_id, _, type = keys.decode_record_key(key)
        mark = zones.get(zone_id)
        if mark is None or mark.name in found or type == rdtypes.SOA:
            continue
        for expected in verify.expectations(store, (), (key,)):
            if expected.rdata and not expected.answered_by:
                found[mark.name] = expected.name, expected.type
    return found


class _Asker:
    """Asks for RRsets of one zone and validates them with the keys that it answers."""

    def __init__(self, zone: str, address: str, port: int, now: float, deadline: float) -> None:
        self._zone, self._address, self._port, self._now, self._deadline = zone, address, port, now, deadline
        self._apex = _name(zone)
        self._keys, signatures = self._ask(zone, _DNSKEY)
        self._validate(zone, _DNSKEY, self._keys, signatures)

    def verify(self, name: str, type: int) -> None:
        """Raise NotServed unless this RRset comes with a signature that is good."""
        self._validate(name, type, *self._ask(name, type))

    def _ask(self, name: str, type: int) -> tuple[dns.rrset.RRset, dns.rrset.RRset]:
        """An RRset and its signatures, of which none is out of its time."""
        stats.OWN_QUESTIONS.add()
        left = max(0.1, self._deadline - time.monotonic())
        answer = verify.ask(self._address, self._port, name, type, left, dnssec=True)
        rrset = verify.rrset_in(answer, name, type)
        if rrset is None:
            raise self._not_served(name, type, f"no such RRset ({answer.rcode().name})")
        for signatures in answer.answer:
            if (signatures.name, signatures.rdtype, signatures.covers) == (rrset.name, dns.rdatatype.RRSIG, type):
                self._refuse_untimely(name, type, signatures)
                return rrset, signatures
        raise self._not_served(name, type, "no RRSIG")

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
        question = f"{name} {dns.rdatatype.to_text(dns.rdatatype.RdataType.make(type))} with DNSSEC"
        return NotServed(question=question, expected="a good signature of its zone", found=found)


def _name(name: str) -> dns.name.Name:
    return dns.name.from_wire(names.to_wire(name), 0)[0]


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
