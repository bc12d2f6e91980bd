"""Answer queries for zone records, and find the zone of a name, for clients that can transfer or update the zones.

Answers come from the publications in PostgreSQL, so a client reads its own writes. Ring 0's PowerDNS answers for signed
zones and computed records. Clients without access can't use these queries to find out which zones exist.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
from django.db.models.functions import Length

from dnspanel.accounts.actors.actors import Right
from dnspanel.gateway import lookup
from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.from_signer import answer_by_signer
from dnspanel.gateway.gateway_tls import OverTls
from dnspanel.gateway.lookup import ANY, Computed, Found, Near
from dnspanel.gateway.reply import Reply, rrsets_for_reply
from dnspanel.gateway.tsig_signatures import Signature, Signed, SignedByPrimary, SignedBySecondary
from dnspanel.gateway.update import name_of
from dnspanel.secondaries.access import require_transport, zone_open_to, zone_to_transfer
from dnspanel.secondaries.errors import TransferRefused
from dnspanel.zones.dnssec.queries import loaded_signing_of
from dnspanel.zones.errors import unserved_reason
from dnspanel.zones.models import TsigAct, Zone
from dnspanel.zones.rights import access, tsig_permissions
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset


@dataclass(frozen=True, slots=True)
class Asker:
    """The client that sent a query: its verified signature and its TLS connection, if any, and its address."""

    signed: Signature | None
    address: str
    tls: OverTls | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A query that the client is allowed to make in this zone. `sees` is the part of the zone that its key can read."""

    asker: Asker
    name: str
    type: int
    zone: Zone
    sees: access.Visibility | None

    def reply(self, *, dnssec: bool, over_tcp: bool) -> Reply | None:
        """Answer the query, or return None if the key isn't allowed to read the answer.

        `dnssec` means that the client requested signatures. A query for ANY is only answered over TCP, as on nodes (RFC
        8482 section 4.4), to prevent amplification attacks. Raise MessageRefused if no answer is possible now.
        """
        if not self.zone.is_transferable:
            raise MessageRefused(dns.rcode.REFUSED, unserved_reason(self.zone.name))
        if self.sees is not None and self.type != ANY and not self.sees(self.name, self.type):
            return None
        if self.type == ANY and not over_tcp:
            return Reply(dns.rcode.NOERROR, is_authoritative=True, is_truncated=True)
        # Secondaries ask for the SOA constantly, and it is the same, signed or not.
        is_plain_soa = self.type == rdtypes.SOA and self.name == self.zone.name and not dnssec
        if not loaded_signing_of(self.zone).is_signed or is_plain_soa:
            try:
                return self._from_published()
            except Computed:
                pass
        return self._from_signer(answer_by_signer(self.zone, self.name, self.type, dnssec=dnssec))

    def _from_published(self) -> Reply | None:
        zones = {self.zone.name: self.zone}

        def read(name: str) -> Near | None:
            found = self._zone_for(name)
            if found is not None:
                zones[found.name] = found
            return None if found is None else near_in(found, name)

        def addresses(zone_name: str, hosts: Collection[str]) -> Iterable[RRset]:
            zone = zones[zone_name]
            at_hosts = store_rrsets.rrsets_at_names({zone.pk: (zone.name, hosts)})[zone.pk]
            return [r for (_, type_), r in at_hosts.items() if type_ in lookup.ADDRESSES and r.served]

        found = lookup.look_up(self.name, self.type, read, addresses)
        seen = None if found is None else self._seen_part(found)
        if seen is None:
            return None
        return Reply(
            seen.rcode,
            rrsets_for_reply(seen.answer),
            rrsets_for_reply(seen.authority),
            rrsets_for_reply(seen.additional),
            is_authoritative=seen.is_authoritative,
            is_referral=seen.is_referral,
        )

    def _zone_for(self, name: str) -> Zone | None:
        """Return the zone of a name in the answer, or None if an alias leads to a hidden or to another signed zone."""
        if name == self.name:
            return self.zone
        found = self._reading_of_target(name)
        if found is None or (found.zone != self.zone and loaded_signing_of(found.zone).is_signed):
            return None
        return found.zone

    def _seen_part(self, found: Found) -> Found | None:
        """Return the part of an answer that the key can read, or None if this part alone would be a wrong answer."""
        if self.sees is None:
            return found
        answer = tuple(rrset for rrset in found.answer if self.sees(rrset.name, rrset.type))
        additional = tuple(rrset for rrset in found.additional if self.sees(rrset.name, rrset.type))
        hides_some = len(answer) < len(found.answer)
        if (hides_some and not (self.type == ANY and answer)) or not self._sees_authority(found.authority):
            return None
        return Found(found.rcode, answer, found.authority, additional, found.is_referral)

    def _sees_authority(self, authority: Iterable[RRset]) -> bool:
        """Return True if the key can read the authority section. Every key can read the SOA."""
        assert self.sees is not None
        return all(rrset.type == rdtypes.SOA or self.sees(rrset.name, rrset.type) for rrset in authority)

    def _from_signer(self, message: dns.message.Message) -> Reply | None:
        """Return PowerDNS's answer, up to the first alias into a zone that the client isn't allowed to read.

        Return None if the answer contains records that the key isn't allowed to read.
        """
        hidden: set[dns.name.Name] = set()
        answer: list[dns.rrset.RRset] = []
        for rrset in message.answer:
            if rrset.name in hidden:
                break
            answer.append(rrset)
            if rrset.rdtype == dns.rdatatype.CNAME and not self._may_know(name_of(rrset[0].target)):
                hidden.add(rrset[0].target)
        if hidden:  # this client must not learn what follows, or whether it exists
            return Reply(dns.rcode.NOERROR, tuple(answer), is_authoritative=True)
        authority, additional = message.authority, message.additional
        if self.sees is not None:
            if any(not self.sees(name_of(rrset.name), _type_of(rrset)) for rrset in answer):
                return None
            # A proof that a name doesn't exist contains the names next to it.
            authority = [rrset for rrset in authority if _type_of(rrset) == rdtypes.SOA]
            additional = []
        is_authoritative = bool(message.flags & dns.flags.AA)
        return Reply(
            message.rcode(),
            tuple(answer),
            tuple(authority),
            tuple(additional),
            is_authoritative=is_authoritative,
            is_referral=not is_authoritative,
        )

    def _may_know(self, name: str) -> bool:
        """Return True if an alias's target is in a zone that the client is allowed to read."""
        return name == self.name or self._reading_of_target(name) is not None

    def _reading_of_target(self, name: str) -> "Reading | None":
        """Return the query for an alias's target, or None if the client can't read all of the target's zone.

        If the target is in the same zone as the queried name, access to a part of the zone is enough.
        """
        found = reading_of(self.asker, name, self.type)
        if found is None or not found.zone.is_transferable:
            return None
        return found if found.zone == self.zone or found.sees is None else None


def reading_of(asker: Asker, name: str, type: int) -> Reading | None:
    """Return the query with the zone that answers it, or None if the client has no access to a zone with this name.

    Access means that the client is allowed to transfer or update the zone. If it has no access to the closest zone, the
    answer comes from a parent zone that delegates the name, as on other name servers.
    """
    zones = zones_around(name)
    if type == rdtypes.DS and zones and zones[0].name == name:  # the DS is the parent's (RFC 4035 section 3.1.4.1)
        zones = [*zones[1:], zones[0]]
    for place, zone in enumerate(zones):
        permitted, sees = _permission(asker, zone)
        if permitted and (place == 0 or type == rdtypes.DS or _delegates(zone, name, type)):
            return Reading(asker, name, type, zone, sees)
    return None


def near_in(zone: Zone, name: str) -> Near:
    """Return the zone's published RRsets near a name. Makes at most two database queries."""
    close = lookup.names_near(name, zone.name)
    at_names = store_rrsets.rrsets_at_names({zone.pk: (zone.name, close)})[zone.pk]
    served = {key: rrset for key, rrset in at_names.items() if rrset.served}
    owners = {owner for owner, _ in served}
    if name in owners:
        return Near(zone.name, served, ())
    empty = [each for each in close if each not in owners and each != zone.name]
    return Near(zone.name, served, store_rrsets.names_with_served_below(zone.pk, zone.name, empty))


def _delegates(zone: Zone, name: str, type: int) -> bool:
    return lookup.cut_of(near_in(zone, name), name, type) is not None


def _permission(asker: Asker, zone: Zone) -> tuple[bool, access.Visibility | None]:
    """Return a pair: True if the client can transfer or update the zone, and the part of the zone that it can read.

    The part is None if the client can read the whole zone.
    """
    match asker.signed:
        case Signed():
            for act in TsigAct:
                actor = tsig_permissions.actor_for(asker.signed.actor, zone.name, act)
                if access.has_right(actor, zone, Right.READ):
                    return True, access.visibility_of(actor, zone)
            return False, None
        case SignedByPrimary():
            return False, None
        case _:
            return _is_transferred_to(asker, zone), None


def _is_transferred_to(asker: Asker, zone: Zone) -> bool:
    """Return True if the client is allowed to transfer the zone, as a secondary or without a key."""
    try:
        if isinstance(asker.signed, SignedBySecondary):
            certificate = asker.tls.certificate if asker.tls else ""
            require_transport(asker.signed.secondary, over_tls=asker.tls is not None, certificate=certificate)
            zone_to_transfer(asker.signed.secondary, zone.name)
        else:
            zone_open_to(zone.name, asker.address)
    except TransferRefused:
        return False
    return True


def _type_of(rrset: dns.rrset.RRset) -> int:
    """Return an RRset's type, or the covered type for signatures."""
    return int(rrset.covers if rrset.rdtype == dns.rdatatype.RRSIG else rrset.rdtype)


def zones_around(name: str) -> list[Zone]:
    """Return the zones that contain a name, closest first, with their signing state. Makes one database query."""
    candidates = [name, *ancestors_within(name, names.ROOT)]
    found = Zone.objects.filter(name__in=candidates, deleted_at=None).select_related("signing")
    return list(found.order_by(Length("name").desc()))


def zone_around(name: str) -> Zone | None:
    """Return the closest zone that contains a name, or None if no zone contains it."""
    return next(iter(zones_around(name)), None)


def apex_of(zone: Zone) -> dict[int, RRset]:
    """Return the SOA and NS RRsets of a zone, keyed by type."""
    at_apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return {type_: rrset for (_, type_), rrset in at_apex.items() if type_ in (rdtypes.SOA, rdtypes.NS)}
