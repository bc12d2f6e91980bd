"""Validate a zone from the root's trust anchors down, without trusting a resolver's own validation.

Three kinds of RRsets are validated: the DNSKEY RRset of each zone (by its DS, or by the trust anchors for the root),
the DS RRset of each zone (by the keys of the parent zone), and the zone's SOA. All of them come through a resolver.
Queries request signatures and disable the resolver's validation. If a name on the way has no DS, the parent zone must
prove this with signed NSEC or NSEC3 records (`denied_ds`).
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import dns.dnssec
import dns.exception
import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from dns.rdtypes.ANY.DS import DS

from dnspanel.fleet.dnssec import denied_ds
from dnspanel.fleet.dnssec.answer_signatures import MOST_KEYS, NotSigned, signatures_of, validate, zone_keys
from dnspanel.fleet.dnssec.denied_ds import MOST_ITERATIONS, MOST_RECORDS, Denial, Unproven
from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, name_of, rrset_at
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.dnssec.key_material import ALGORITHMS, EVERY_DIGEST
from replication.dns import names, rdtypes

SECONDS = 15.0
MOST_DS = 32
_SHA1 = 1
_INSECURE = {
    Denial.UNSIGNED: gettext_noop("{name} doesn’t have a DS"),
    Denial.OPT_OUT: gettext_noop("{name} doesn’t have a signed delegation, because {above} uses NSEC3 opt-out"),
    Denial.ITERATIONS: gettext_noop("{above} uses more than {most} NSEC3 iterations"),
}


class Verdict(StrEnum):
    """The result of following the chain of trust."""

    SECURE = "secure"
    INSECURE = "insecure"  # something on the way is unsigned: no resolver validates
    BOGUS = "bogus"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Chain:
    """The verdict about a chain of trust. If it isn't SECURE, `reason` is a clause that explains why."""

    verdict: Verdict
    reason: str = ""


class _Broken(Exception):
    """Raised if the chain of trust ends before the zone's SOA is validated."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.chain = Chain(verdict, reason)


def follow_chain(zone_name: str, *, resolver: Resolver, anchors: Sequence[str], now: datetime) -> Chain:
    """Validate the zone from these trust anchors (DS records of the root) down, and return the verdict.

    Network errors are never raised: the verdict is then UNKNOWN. Raise ValueError for an invalid anchor.

    1. The root's DNSKEY RRset must be signed by a key that matches an anchor. Otherwise, the verdict is UNKNOWN.
    2. If a name on the way has a DS, the parent zone must sign this DS, and a matching key must sign the DNSKEY RRset.
       If a name has no DS, the parent zone must prove one of two things. If the name isn't a delegation, the walk
       continues. If the delegation is unsigned, the walk ends as insecure. If there is no proof, the result is bogus. A
       DS with only unknown algorithms or digest types also ends the walk as insecure.
    3. The zone's SOA must be signed. If the parent zone doesn't delegate the zone, the result is bogus.
    """
    walk = _Walk(resolver, now.timestamp(), time.monotonic() + SECONDS)
    above = names.ROOT
    try:
        keys = walk.keys(above, read_anchors(anchors))
        for name in _way_to(zone_name):
            ds = walk.ds(name, above, keys)
            if ds:
                keys, above = walk.keys(name, ds), name
        walk.soa(zone_name, above, keys)
    except NoAnswer as exc:
        return Chain(Verdict.UNKNOWN, str(exc))
    except _Broken as exc:
        # If even the root fails, the cause is here: the anchors, the resolver, or the clock.
        return Chain(Verdict.UNKNOWN, exc.chain.reason) if walk.is_at_root else exc.chain
    return Chain(Verdict.SECURE)


def read_anchors(texts: Iterable[str]) -> list[DS]:
    """Parse trust anchors. Raise ValueError for a string that isn't a DS record."""
    found: list[DS] = []
    for text in texts:
        try:
            read = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.DS, text)
        except (dns.exception.DNSException, ValueError) as exc:
            raise ValueError(gettext("“{text}” isn’t a valid DS record").format(text=text)) from exc
        assert isinstance(read, DS)
        found.append(read)
    return found


def _way_to(zone_name: str) -> list[str]:
    """Return the names from the root (excluded) down to the zone."""
    found: list[str] = []
    at: str | None = zone_name
    while at is not None and at != names.ROOT:
        found.append(at)
        at = names.parent(at)
    return found[::-1]


class _Walk:
    """One walk down from the root: it queries RRsets, and validates them as of one point in time."""

    def __init__(self, resolver: Resolver, now: float, deadline: float) -> None:
        self._resolver, self._now, self._deadline = resolver, now, deadline
        self.is_at_root = True  # while the root's own keys are not validated

    def keys(self, name: str, ds: Sequence[DS]) -> list[DNSKEY]:
        """Return a zone's keys if its DNSKEY RRset is valid according to the DS records. Otherwise, raise _Broken.

        The verdict is INSECURE if all DS records have unknown algorithms or digest types, UNKNOWN if the root's
        signatures are missing, and otherwise BOGUS.
        """
        usable = [each for each in ds if int(each.algorithm) in ALGORITHMS and int(each.digest_type) in EVERY_DIGEST]
        if not usable:
            raise _Broken(
                Verdict.INSECURE,
                gettext("the DS for {name} has only unknown algorithms and digest types").format(name=name),
            )
        if any(each.digest_type != _SHA1 for each in usable):  # RFC 4509 section 3
            usable = [each for each in usable if each.digest_type != _SHA1]
        answer = self._ask(name, rdtypes.DNSKEY)
        rrset = rrset_at(answer.answer, name_of(name), rdtypes.DNSKEY)
        if name == names.ROOT and (rrset is None or not signatures_of(answer.answer, rrset)):
            raise _Broken(Verdict.UNKNOWN, gettext("the resolver removes signatures from answers"))
        if rrset is None:
            raise _Broken(Verdict.BOGUS, gettext("{name} has a DS but no DNSKEY records").format(name=name))
        keys = zone_keys(rrset)
        if len(rrset) > MOST_KEYS:
            raise _Broken(
                Verdict.BOGUS,
                gettext("{name} has more than {most_keys} DNSKEY records").format(name=name, most_keys=MOST_KEYS),
            )
        entries = [key for key in keys if any(_names_key(each, rrset.name, key) for each in usable)]
        if not entries:
            raise _Broken(
                Verdict.BOGUS,
                gettext("the root trust anchor doesn’t match any key")
                if name == names.ROOT
                else gettext("the DS for {name} doesn’t match any key").format(name=name),
            )
        self._validate(answer.answer, rrset, name, entries)
        self.is_at_root = False
        return keys

    def ds(self, name: str, above: str, keys: Sequence[DNSKEY]) -> list[DS]:
        """Return a name's validated DS records, or [] if the parent zone proves no delegation. Else, raise _Broken."""
        answer = self._ask(name, rdtypes.DS)
        rrset = rrset_at(answer.answer, name_of(name), rdtypes.DS)
        if rrset is None:
            self._no_delegation(answer, name, above, keys)
            return []
        if len(rrset) > MOST_DS:
            raise _Broken(
                Verdict.BOGUS, gettext("{name} has more than {most_ds} DS records").format(name=name, most_ds=MOST_DS)
            )
        self._validate(answer.answer, rrset, above, keys)
        return [each for each in rrset if isinstance(each, DS)]

    def _no_delegation(self, answer: dns.message.Message, name: str, above: str, keys: Sequence[DNSKEY]) -> None:
        """Raise _Broken unless the parent zone proves that it doesn't delegate the name.

        The verdict is BOGUS if there is no proof. It is INSECURE if the name is, or can be, an unsigned delegation, or
        if the proof has too many NSEC3 iterations.
        """
        alias = rrset_at(answer.answer, name_of(name), rdtypes.CNAME)
        if alias is not None:  # a CNAME excludes all other types (RFC 1034 section 3.6.2)
            self._validate(answer.answer, alias, above, keys)
            return
        denying = [each for each in answer.authority if _is_denial(each)]
        for each in denying[:MOST_RECORDS]:
            self._validate(answer.authority, each, above, keys)
        try:
            proven = denied_ds.denial_of_ds(name_of(name), name_of(above), denying)
        except Unproven as exc:
            raise _Broken(Verdict.BOGUS, str(exc)) from exc
        if proven is not Denial.NO_DELEGATION:
            raise _Broken(
                Verdict.INSECURE, gettext(_INSECURE[proven]).format(name=name, above=above, most=MOST_ITERATIONS)
            )

    def soa(self, name: str, above: str, keys: Sequence[DNSKEY]) -> None:
        """Raise _Broken unless the zone is delegated, and its SOA has a valid signature by one of its keys."""
        answer = self._ask(name, rdtypes.SOA)
        rrset = rrset_at(answer.answer, name_of(name), rdtypes.SOA)
        if rrset is None:
            raise _Broken(Verdict.UNKNOWN, gettext("the resolver found no SOA for {name}").format(name=name))
        if name != above:
            raise _Broken(
                Verdict.BOGUS, gettext("{above} proves that {name} is not delegated").format(above=above, name=name)
            )
        self._validate(answer.answer, rrset, name, keys)

    def _ask(self, name: str, type: int) -> dns.message.Message:
        return self._resolver.ask(name, type, deadline=self._deadline, dnssec=True)

    def _validate(
        self, section: list[dns.rrset.RRset], rrset: dns.rrset.RRset, zone: str, keys: Sequence[DNSKEY]
    ) -> None:
        """Raise _Broken unless one of the zone's keys has a currently valid signature over the RRset."""
        try:
            validate(section, rrset, zone, keys, self._now)
        except NotSigned as exc:
            raise _Broken(Verdict.BOGUS, str(exc)) from exc


def _is_denial(rrset: dns.rrset.RRset) -> bool:
    return rrset.rdclass == dns.rdataclass.IN and rrset.rdtype in denied_ds.TYPES


def _names_key(ds: DS, name: dns.name.Name, key: DNSKEY) -> bool:
    if (ds.key_tag, ds.algorithm) != (dns.dnssec.key_id(key), key.algorithm):
        return False
    return bool(dns.dnssec.make_ds(name, key, ds.digest_type, validating=True) == ds)
