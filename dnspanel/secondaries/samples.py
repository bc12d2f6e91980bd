"""Compare a server's answers with a zone: some RRsets, the keys, and the presence of signatures.

Comparing serials isn't enough. A server that missed a deletion in an IXFR, or got other content with the same serial,
would look in sync forever. Answers that depend on more than the RRset itself aren't compared: names below delegations
and DNAME, names that a wildcard can answer for, and computed types.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from dnspanel.database.sql import fetch_all
from dnspanel.secondaries.udp_exchange import Answer
from dnspanel.texts import gettext, shortened
from dnspanel.zones.dnssec.queries import keys_of, signing_of
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Zone
from dnspanel.zones.rules.computed_types import COMPUTED
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Key

# The numbers of RRsets that the last revisions changed, and of other RRsets.
CHANGED, OTHERS = 4, 4
# Larger answers are truncated over UDP, and are not compared.
_PAYLOAD = 1232
# Types whose answers can differ although the zones agree: SOA (the serial), signatures and denial of existence.
_NOT_COMPARED = COMPUTED | {
    *(rdtypes.SOA, rdtypes.RRSIG, rdtypes.NSEC, rdtypes.NSEC3, rdtypes.NSEC3PARAM),
    *(rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY),
}
_LONGEST = 300

_SAMPLE = """
(
    SELECT c.name, c.type FROM zones_change c JOIN zones_revision v ON v.id = c.revision_id
    WHERE v.zone_id = %(zone)s AND v.number > %(revision)s - %(changed)s AND NOT c.type = ANY(%(without)s)
    ORDER BY v.number DESC LIMIT %(changed)s
) UNION (
    SELECT r.name, r.type FROM zones_rrset r
    WHERE r.zone_id = %(zone)s AND r.owner_key >= %(place)s ORDER BY r.owner_key, r.type LIMIT %(others)s
) UNION (
    SELECT r.name, r.type FROM zones_rrset r WHERE r.zone_id = %(zone)s ORDER BY r.owner_key, r.type LIMIT %(others)s
)"""

Ask = Callable[[Sequence[dns.message.Message]], Sequence[Answer]]
Values = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Expected:
    """A query, and the expected values in DNSSEC canonical form (empty if the RRset must not exist)."""

    name: str
    type: int
    values: Values

    def question(self) -> dns.message.Message:
        """Return the query message. It also requests signatures."""
        return _question(self.name, self.type)

    def difference(self, message: dns.message.Message | None) -> str:
        """Return a description of the answer's difference, or "" if the answer is correct or inconclusive."""
        found = None if message is None else _values_in(message, self.name, self.type)
        if found is None or found == self.values:
            return ""
        return gettext("{name} {type}: expected {expected}, received {found}.").format(
            name=self.name,
            type=rdata.type_to_text(self.type),
            found=_spoken(self.type, found),
            expected=_spoken(self.type, self.values),
        )


def difference_of(zone: Zone, ask: Ask, *, place: str) -> str | None:
    """Compare a server's answers with the zone. Return a difference, "" if they agree, or None if inconclusive.

    Compare whether answers are signed, the keys, and a sample of RRsets: the last changed, the first, and some from the
    label `place` on. Differences are checked a second time, because several servers can share one address. The result
    is None if the server doesn't have the zone's current serial, or if the zone changes during the check.
    """
    state = signing_of(zone)
    expected = [*_keys(zone, state), *_expected_of_sample(zone, place)]
    found = _differences(zone, state, expected, ask)
    if found:
        found = [] if (again := _differences(zone, state, expected, ask)) is None else [d for d in found if d in again]
        if again is None:
            return None
    if found is None or not Zone.objects.filter(pk=zone.pk, revision=zone.revision, deleted_at=None).exists():
        return None
    return shortened(found[0], _LONGEST) if found else ""


def _differences(zone: Zone, state: SigningState, expected: Sequence[Expected], ask: Ask) -> list[str] | None:
    """Return all differences, or None if the server doesn't have the zone's current serial."""
    soa, *answers = ask([_question(zone.name, rdtypes.SOA), *(each.question() for each in expected)])
    if soa.message is None or _serial_in(soa.message, zone.name) != zone.serial:
        return None
    found = [_signing_difference(soa.message, is_signed=state.is_signed)]
    found += [each.difference(answer.message) for each, answer in zip(expected, answers, strict=True)]
    return [difference for difference in found if difference]


def _question(name: str, type: int) -> dns.message.Message:
    return dns.message.make_query(name, dns.rdatatype.RdataType.make(type), want_dnssec=True, payload=_PAYLOAD, flags=0)


def _signing_difference(message: dns.message.Message, *, is_signed: bool) -> str:
    has_signatures = any(rrset.rdtype == dns.rdatatype.RRSIG for rrset in message.answer)
    if has_signatures == is_signed:
        return ""
    if is_signed:
        return gettext("The zone is signed, but the answer doesn’t have signatures.")
    return gettext("The zone is not signed, but the answer has signatures.")


def _keys(zone: Zone, state: SigningState) -> Iterator[Expected]:
    """Yield the DNSKEY RRset that the server must have, or nothing if the zone has keys but isn't signed."""
    if state.is_signed != (state.presigned or bool(state.keys)):
        return
    own = {key.dnskey for key in keys_of(zone, state) if key.published}
    stored = rrsets_at_names({zone.pk: (zone.name, [zone.name])})[zone.pk].get((zone.name, rdtypes.DNSKEY))
    yield Expected(zone.name, rdtypes.DNSKEY, _values(rdtypes.DNSKEY, {*own, *(stored.served if stored else ())}))


def _expected_of_sample(zone: Zone, place: str) -> Iterator[Expected]:
    keys = _sample(zone, place)
    around = {name: _around(name, zone.name) for name, _ in keys}
    near = rrsets_at_names(
        {zone.pk: (zone.name, {zone.name, *around, *(each for above in around.values() for each in above)})}
    )[zone.pk]
    types: dict[str, set[int]] = {}
    for name, type in near:
        types.setdefault(name, set()).add(type)
    for name, type in keys:
        rrset = near.get((name, type))
        if _is_answered_plainly(name, type, zone.name, types, around[name], exists=rrset is not None):
            yield Expected(name, type, _values(type, rrset.served if rrset else ()))


def _sample(zone: Zone, place: str) -> list[Key]:
    parameters: dict[str, Any] = {
        "zone": zone.pk,
        "revision": zone.revision,
        "changed": CHANGED,
        "others": OTHERS,
        "without": sorted(_NOT_COMPARED),
        "place": relative_key(f"{place}.{zone.name}" if zone.name != names.ROOT else f"{place}.", zone.name),
    }
    return [(name, type) for name, type in fetch_all(_SAMPLE, parameters) if type not in _NOT_COMPARED]


def _around(name: str, zone: str) -> list[str]:
    """Return the names above `name`, up to and including the apex, and the wildcard below each of them."""
    found: list[str] = []
    above = names.parent(name) if name != zone else None
    while above is not None:
        found += [above, f"*.{above}" if above != names.ROOT else "*."]
        above = names.parent(above) if above != zone else None
    return found


def _is_answered_plainly(
    name: str, type: int, zone: str, types: Mapping[str, set[int]], around: Iterable[str], *, exists: bool
) -> bool:
    """Return True if the answer depends only on the RRset itself, or on its absence."""
    here = types.get(name, set())
    if here & COMPUTED or (rdtypes.CNAME in here and type != rdtypes.CNAME):
        return False
    if name != zone and rdtypes.NS in here and type != rdtypes.DS:
        return False  # a delegation
    for above in around:
        types_above = types.get(above, set())
        if rdtypes.DNAME in types_above or (rdtypes.NS in types_above and above != zone):
            return False
        if not exists and above.startswith("*.") and types_above:
            return False
    return True


def _values(type: int, texts: Iterable[str]) -> Values:
    return frozenset(_read(type, rdata.to_wire(type, text)).to_digestable() for text in texts)


def _read(type: int, wire: bytes) -> dns.rdata.Rdata:
    return dns.rdata.from_wire(dns.rdataclass.IN, dns.rdatatype.RdataType.make(type), wire, 0, len(wire))


def _values_in(message: dns.message.Message, name: str, type: int) -> Values | None:
    """Return the RRset's values in the answer, or None if the answer is truncated or an error."""
    if message.flags & dns.flags.TC or message.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return None
    owner = dns.name.from_text(name)
    return frozenset(
        each.to_digestable()
        for rrset in message.answer
        if rrset.name == owner and rrset.rdtype == type
        for each in rrset
    )


def _serial_in(message: dns.message.Message, name: str) -> int | None:
    owner = dns.name.from_text(name)
    for rrset in message.answer:
        if rrset.rdtype == dns.rdatatype.SOA and rrset.name == owner:
            return int(rrset[0].serial)
    return None


def _spoken(type: int, values: Values) -> str:
    texts = sorted(_read(type, each).to_text() for each in values)
    return shortened(", ".join(texts), 80) if texts else gettext("nothing")
