"""A client that continuously queries all nodes and validates the answers with dnspython from a trust anchor."""

import base64
import random
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import dns.dnssec
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from dnspanel.demo.demo_nodes import DemoNode
from tests.full import is_full

# Continuous validation uses a whole CPU, which only a full run does.
ROUND_PAUSE = 0.02
_TYPES = ("A", "TXT", "DS", "NS", "MX")


class Validator:
    """Queries the nodes inside the block. `faults` describes answers that did not validate."""

    def __init__(self, nodes: Sequence[DemoNode], zone: str, dnskeys: Sequence[str], names: Sequence[str]) -> None:
        self._nodes, self._names = list(nodes), list(names)
        self._apex = dns.name.from_text(zone)
        keys = dns.rrset.from_text(self._apex, 3600, "IN", "DNSKEY", *dnskeys)
        self._keys = {self._apex: keys}
        self.faults: list[str] = []
        self.questions = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(1)
        pause = 0.0 if is_full() else ROUND_PAUSE
        while not self._ends.wait(pause):
            for node in self._nodes:
                name, type = chance.choice(self._names), chance.choice(_TYPES)
                if chance.random() < 0.5:
                    name = f"r{chance.randrange(10**6)}.{name}" if "sub." not in name and "safe." not in name else name
                if fault := self.check(node, name, type):
                    self.faults.append(f"{node.name} {name} {type}: {fault}")
                self.questions += 1

    def check(self, node: DemoNode, name: str, type: str) -> str:
        """Return the reason why a node's answer does not validate, or an empty string if it does."""
        query = dns.message.make_query(name, type, want_dnssec=True)
        try:
            answer = dns.query.udp_with_fallback(query, "127.0.0.1", port=node.dns_port, timeout=5)[0]
        except (OSError, dns.exception.DNSException) as exc:
            return f"no answer: {exc!r}"
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            return dns.rcode.to_text(answer.rcode())
        return self._fault_in(answer, dns.name.from_text(name), dns.rdatatype.from_text(type))

    def _fault_in(self, answer: dns.message.Message, name: dns.name.Name, type: int) -> str:
        for section in (answer.answer, answer.authority):
            for rrset in section:
                if rrset.rdtype == dns.rdatatype.RRSIG:
                    continue
                is_cut = rrset.rdtype == dns.rdatatype.NS and rrset.name != self._apex
                if is_cut:
                    continue
                signatures = answer.get_rrset(
                    section, rrset.name, dns.rdataclass.IN, dns.rdatatype.RRSIG, covers=rrset.rdtype
                )
                if signatures is None:
                    return f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)} is not signed"
                try:
                    dns.dnssec.validate(rrset, signatures, self._keys)
                except dns.dnssec.ValidationFailure as exc:
                    return f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)}: {exc}"
        return self._denial_fault(answer, name, type)

    def _denial_fault(self, answer: dns.message.Message, name: dns.name.Name, type: int) -> str:
        """Return the part that is missing in a negative answer's proof, or an empty string if the proof is complete."""
        if answer.answer:
            return ""
        referral = next((r for r in answer.authority if r.rdtype == dns.rdatatype.NS and r.name != self._apex), None)
        if referral is not None:
            name = referral.name
            if any(rrset.rdtype == dns.rdatatype.DS and rrset.name == name for rrset in answer.authority):
                return ""  # the zone below is secure, and is validated separately
        nsec = [rrset for rrset in answer.authority if rrset.rdtype == dns.rdatatype.NSEC]
        nsec3 = [rrset for rrset in answer.authority if rrset.rdtype == dns.rdatatype.NSEC3]
        if not nsec and not nsec3:
            return "nothing proves the denial"
        if nsec and nsec3:
            return "NSEC beside NSEC3"
        is_missing = answer.rcode() == dns.rcode.NXDOMAIN
        if nsec:
            matches = [rrset for rrset in nsec if rrset.name == name]
            covers = any(_covers(rrset.name, rrset[0].next, name, self._apex) for rrset in nsec)
            return "" if (covers if is_missing else covers or matches) else "no NSEC matches or covers the name"
        return self._nsec3_fault(nsec3, name, is_missing=is_missing)

    def _nsec3_fault(self, nsec3: Sequence[dns.rrset.RRset], name: dns.name.Name, *, is_missing: bool) -> str:
        """Return the missing part of a proof by RFC 5155 section 8, or an empty string if the proof is complete."""
        one = nsec3[0][0]

        def hashed(each: dns.name.Name) -> str:
            return dns.dnssec.nsec3_hash(each, one.salt, one.iterations, one.algorithm).lower()

        owners = {rrset.name.labels[0].decode().lower(): rrset[0] for rrset in nsec3}
        if hashed(name) in owners:
            return "" if not is_missing else "NXDOMAIN for a name whose NSEC3 is there"
        closer = name
        while closer != self._apex and hashed(closer.parent()) not in owners:
            closer = closer.parent()
        if closer == self._apex:
            return "no closest encloser"
        target = hashed(closer)
        for owner, rdata in owners.items():
            following = _base32hex(rdata.next)
            inside = owner < target < following if owner < following else target > owner or target < following
            if inside:
                return ""
        return "no NSEC3 covers the next closer name"


def _base32hex(value: bytes) -> str:
    return base64.b32hexencode(value).decode().lower()


def _covers(owner: dns.name.Name, following: dns.name.Name, name: dns.name.Name, apex: dns.name.Name) -> bool:
    return owner < name and (name < following or following == apex)
