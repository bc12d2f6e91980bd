"""Prove that a name below a signed zone has no DS, from the zone's NSEC and NSEC3 records. Pure.

The caller must validate the signatures of all records before passing them in.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import dns.dnssec
import dns.name
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.NSEC import NSEC
from dns.rdtypes.ANY.NSEC3 import NSEC3

from dnspanel.texts import gettext
from replication.dns import rdtypes

TYPES = (dns.rdatatype.NSEC, dns.rdatatype.NSEC3)
# An answer needs at most three: of the closest encloser, the next closer name, and the wildcard.
MOST_RECORDS = 8
# RFC 9276 section 3.2: hashes with more iterations are not computed (CVE-2023-50868).
MOST_ITERATIONS = 100
_SHA1, _SHA1_BYTES = 1, 20
_OPT_OUT = 1


class Denial(Enum):
    """The possible results of a proof that a name has no DS."""

    UNSIGNED = "a delegation, and not a signed one"
    OPT_OUT = "an unsigned delegation, or nothing"  # RFC 5155 section 6: the zone does not sign which of the two
    NO_DELEGATION = "no delegation"  # a name of the zone itself, or no name at all
    ITERATIONS = "nothing, in a way that costs too much"


class Unproven(Exception):
    """Raised if the records prove nothing. The message is a clause that explains why."""


@dataclass(frozen=True, slots=True)
class _Hashed:
    """An NSEC3 record together with the decoded hash from its owner name."""

    at: bytes
    record: NSEC3

    def covers(self, name_hash: bytes) -> bool:
        """Return True if the record denies this hash (RFC 5155 section 1.3). The chain's last record wraps around."""
        if self.at < self.record.next:
            return self.at < name_hash < self.record.next
        return name_hash > self.at or name_hash < self.record.next


def denial_of_ds(name: dns.name.Name, zone: dns.name.Name, rrsets: Sequence[dns.rrset.RRset]) -> Denial:
    """Return the Denial that these signed NSEC and NSEC3 RRsets prove for a name below the apex.

    Raise Unproven if they prove nothing, contradict it, or are more than MOST_RECORDS. Sources: RFC 4035 sections 5.2
    and 5.4, RFC 5155 sections 8.2 to 8.9, RFC 6840 sections 4.1, 4.3 and 4.4. If NSEC3 records have too many iterations
    (RFC 9276), the result is ITERATIONS.
    """
    if len(rrsets) > MOST_RECORDS:
        raise Unproven(
            gettext("the denial of a DS for {name} has more than {most_records} NSEC and NSEC3 records").format(
                most_records=MOST_RECORDS, name=name
            )
        )
    links = [(each.name, each[0]) for each in rrsets if len(each) == 1 and each.name.is_subdomain(zone)]
    found = _by_nsec(name, zone, [(owner, record) for owner, record in links if isinstance(record, NSEC)])
    if found is None:
        found = _by_nsec3(name, zone, [(owner, record) for owner, record in links if isinstance(record, NSEC3)])
    if found is None:
        raise Unproven(gettext("no proof that {name} doesn’t have a DS").format(name=name))
    return found


def _by_nsec(name: dns.name.Name, zone: dns.name.Name, links: Sequence[tuple[dns.name.Name, NSEC]]) -> Denial | None:
    for owner, record in links:
        if owner == name:
            return _matching(name, record)
    for owner, record in links:
        if _covers(name, zone, owner, record) and not (name.is_subdomain(owner) and _leads_away(record)):
            return Denial.NO_DELEGATION
    return None


def _covers(name: dns.name.Name, zone: dns.name.Name, owner: dns.name.Name, record: NSEC) -> bool:
    """Return True if this NSEC proves that `name` doesn't exist, except as an empty non-terminal.

    The chain's last record points back to the apex.
    """
    return bool(owner < name and (name < record.next or record.next == zone))


def _by_nsec3(name: dns.name.Name, zone: dns.name.Name, links: Sequence[tuple[dns.name.Name, NSEC3]]) -> Denial | None:
    links = [(owner, record) for owner, record in links if record.flags in (0, _OPT_OUT)]  # RFC 5155 section 8.2
    usable = [(owner, record) for owner, record in links if record.algorithm == _SHA1]
    if not usable:
        return None  # records of unknown hashes prove nothing (RFC 5155 section 8.1)
    if any(record.iterations > MOST_ITERATIONS for _, record in usable):
        return Denial.ITERATIONS
    if len({(record.iterations, record.salt) for _, record in usable}) > 1:
        raise Unproven(
            gettext("the NSEC3 records that deny a DS for {name} have different parameters").format(name=name)
        )
    chain = [_Hashed(at, record) for owner, record in usable if (at := _hash_in(owner, zone, record)) is not None]
    iterations, salt = usable[0][1].iterations, usable[0][1].salt
    next_closer, name_hash = name, _hash_of(name, salt, iterations)
    if (found := _at(name_hash, chain)) is not None:
        return _matching(name, found)
    while next_closer != zone:
        encloser = next_closer.parent()
        above = _hash_of(encloser, salt, iterations)
        if (found := _at(above, chain)) is not None:
            return _below(found, [each.record for each in chain if each.covers(name_hash)])
        next_closer, name_hash = encloser, above
    return None


def _below(encloser: NSEC3, covering: Sequence[NSEC3]) -> Denial | None:
    """Return the Denial that the closest encloser's NSEC3 and those over the next closer name prove, or None."""
    if not covering or _leads_away(encloser):
        return None
    return Denial.OPT_OUT if any(each.flags & _OPT_OUT for each in covering) else Denial.NO_DELEGATION


def _matching(name: dns.name.Name, record: NSEC | NSEC3) -> Denial:
    """Return the Denial that the record at the name itself proves.

    Raise Unproven if it is the child zone's record (RFC 6840 section 4.4), or if it lists a DS or CNAME.
    """
    kind = dns.rdatatype.to_text(record.rdtype)
    if _has(record, rdtypes.SOA):
        raise Unproven(
            gettext("the {kind} for {name} is from the apex, so it can’t deny a DS").format(kind=kind, name=name)
        )
    for type in (dns.rdatatype.DS, dns.rdatatype.CNAME):
        if _has(record, type):
            raise Unproven(
                gettext("the {kind} for {name} shows that a {to_text} exists").format(
                    kind=kind, name=name, to_text=dns.rdatatype.to_text(type)
                )
            )
    return Denial.UNSIGNED if _has(record, rdtypes.NS) else Denial.NO_DELEGATION


def _leads_away(record: NSEC | NSEC3) -> bool:
    """Return True if names below the record are in another zone or are redirected by DNAME (RFC 6840 section 4.1)."""
    return _has(record, rdtypes.DNAME) or (_has(record, rdtypes.NS) and not _has(record, rdtypes.SOA))


def _has(record: NSEC | NSEC3, type: int) -> bool:
    window, bit = divmod(type, 256)
    at, mask = bit // 8, 0x80 >> bit % 8
    return any(number == window and at < len(bits) and bits[at] & mask for number, bits in record.windows)


def _hash_in(owner: dns.name.Name, zone: dns.name.Name, record: NSEC3) -> bytes | None:
    """Return the hash in an NSEC3 record's owner name, or None if the record doesn't belong to this zone."""
    if owner == zone or owner.parent() != zone or len(record.next) != _SHA1_BYTES:
        return None
    try:
        found = base64.b32hexdecode(owner.labels[0], casefold=True)
    except binascii.Error:
        return None
    return found if len(found) == _SHA1_BYTES else None


def _hash_of(name: dns.name.Name, salt: bytes, iterations: int) -> bytes:
    return base64.b32hexdecode(dns.dnssec.nsec3_hash(name, salt, iterations, _SHA1))


def _at(name_hash: bytes, chain: Sequence[_Hashed]) -> NSEC3 | None:
    return next((each.record for each in chain if each.at == name_hash), None)
