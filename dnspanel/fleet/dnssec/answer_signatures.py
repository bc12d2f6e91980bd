"""Validate an RRset in an answer with the keys of its zone, independently of PowerDNS. Pure."""

import time
from collections.abc import Sequence

import dns.dnssec
import dns.exception
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from dns.rdtypes.ANY.RRSIG import RRSIG

from dnspanel.fleet.dnssec.dns_exchange import name_of, rrset_at, text_of
from dnspanel.texts import gettext
from dnspanel.zones.dnssec.key_material import ZONE

# More than any zone has, and few enough to try all pairs of them (CVE-2023-50387).
MOST_KEYS, MOST_SIGNATURES = 32, 8
_REVOKED = 0x0080
_PROTOCOL = 3


class NotSigned(Exception):
    """Raised if an RRset has no valid signature. The message is a clause that explains why."""


def validate(
    section: list[dns.rrset.RRset], rrset: dns.rrset.RRset, zone: str, keys: Sequence[DNSKEY], now: float
) -> int:
    """Validate an RRset with `keys`. Return the latest expiry (Unix time) of its current signatures by the zone.

    Raise NotSigned if no signature is valid at the time `now`, or if there are more than MOST_SIGNATURES.
    """
    what = gettext("{type} for {name}").format(type=dns.rdatatype.to_text(rrset.rdtype), name=text_of(rrset.name))
    apex = name_of(zone)
    signatures = [each for each in signatures_of(section, rrset) if each.signer == apex]
    if not signatures:
        raise NotSigned(gettext("the {what} is not signed by {zone}").format(what=what, zone=zone))
    if len(signatures) > MOST_SIGNATURES:
        raise NotSigned(
            gettext("the {what} has more than {most_signatures} signatures").format(
                what=what, most_signatures=MOST_SIGNATURES
            )
        )
    timely = [each for each in signatures if each.inception <= now <= each.expiration]
    if not timely:
        last = max(each.expiration for each in signatures)
        when = f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime(last))} UTC"
        raise NotSigned(
            gettext("the signature for the {what} expired at {when}").format(what=what, when=when)
            if last < now
            else gettext("the signature for the {what} is not valid yet").format(what=what)
        )
    known = dns.rrset.from_rdata_list(apex, rrset.ttl, list(keys))
    try:
        dns.dnssec.validate(rrset, dns.rrset.from_rdata_list(rrset.name, rrset.ttl, timely), {apex: known}, now=now)
    except (dns.exception.DNSException, ValueError) as exc:
        raise NotSigned(gettext("the signature for the {what} is invalid").format(what=what)) from exc
    return max(int(each.expiration) for each in timely)


def signatures_of(section: list[dns.rrset.RRset], rrset: dns.rrset.RRset) -> list[RRSIG]:
    """Return the signatures over an RRset, except those of a wildcard that was expanded (RFC 4034 section 3.1.3).

    Signatures of the wildcard RRset itself are included.
    """
    found = rrset_at(section, rrset.name, dns.rdatatype.RRSIG, covers=rrset.rdtype)
    labels = len(rrset.name.labels) - 1 - rrset.name.is_wild()
    return [each for each in found or () if isinstance(each, RRSIG) and each.labels == labels]


def zone_keys(rrset: dns.rrset.RRset) -> list[DNSKEY]:
    """Return the keys of a DNSKEY RRset that are allowed to sign the zone."""
    return [key for key in rrset if isinstance(key, DNSKEY) and _is_zone_key(key)]


def _is_zone_key(key: DNSKEY) -> bool:
    return bool(key.flags & ZONE) and not key.flags & _REVOKED and key.protocol == _PROTOCOL
