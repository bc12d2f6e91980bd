"""Check over DNS that all name servers of a multi-signer zone have the panel's new keys in their DNSKEY RRset."""

import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import dns.flags
import dns.rcode
from django.conf import settings

from dnspanel.fleet.dnssec import parent_dns
from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, name_of, rcode_text, rrset_at
from dnspanel.fleet.dnssec.resolver import Resolver, Zone, resolver_of_settings
from dnspanel.texts import gettext, joined
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import Rollover, ZoneKey
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes

# Servers are queried this often, by the rollover's clock. One run queries a limited number, the next run the others.
ASK_EVERY = timedelta(seconds=60)
MOST_QUERIED = 100
_ZONES_AT_ONCE = 8
_AT_ONCE = 8
_MOST_KEYS = 64


@dataclass(frozen=True, slots=True)
class SignersLook:
    """The result of querying a multi-signer zone's name servers.

    `lack` is a sentence about missing keys or a failed check, or empty if all servers have the keys. `ttl` is the
    longest time in seconds that caches can keep DNSKEY records, or 0 if no server sent any.
    """

    lack: str
    ttl: int = 0


def zones_with_other_signers(rows: Collection[Rollover]) -> frozenset[int]:
    """Return the ids of these rollovers' zones that also have signers other than the panel."""
    return frozenset(queries.other_keys_of_zones([row.zone for row in rows]))


def ask_signers(rows: Sequence[Rollover]) -> dict[int, SignersLook]:
    """Query the name servers of multi-signer zones for the new keys. Return the results, keyed by rollover id.

    At most MOST_QUERIED rollovers are checked, starting with those that have waited longest. Rollovers whose servers
    were queried recently, and rollovers of kinds other than ZSK and CSK, are omitted.
    """
    due = [
        row
        for row in rows
        if row.kind in {Kind.ZSK, Kind.CSK} and (row.signers_at is None or row.clock - row.signers_at >= ASK_EVERY)
    ]
    due = sorted(due, key=lambda row: (row.signers_at is not None, row.signers_at or row.clock))[:MOST_QUERIED]
    if not due:
        return {}
    public = ZoneKey.objects.in_bulk([id for row in due for id in row.new_keys])
    apexes = rrsets_at_names({row.zone_id: (row.zone.name, [row.zone.name]) for row in due})

    def look(row: Rollover) -> SignersLook:
        ns = apexes[row.zone_id].get((row.zone.name, rdtypes.NS))
        keys = [(key.flags, key.algorithm, bytes(key.public)) for key in map(public.__getitem__, row.new_keys)]
        return look_at_signers(
            row.zone.name,
            ns.folded.served if ns else (),
            keys,
            resolver=resolver_of_settings(),
            networks=settings.SOURCE_NETWORKS,
        )

    with ThreadPoolExecutor(_ZONES_AT_ONCE, thread_name_prefix="signed") as pool:
        return dict(zip([row.pk for row in due], pool.map(look, due), strict=True))


def look_at_signers(
    zone_name: str,
    nameservers: Collection[str],
    wanted: Collection[tuple[int, int, bytes]],
    *,
    resolver: Resolver,
    networks: Sequence[str],
    port: int = 53,
) -> SignersLook:
    """Query these name servers, at each of their addresses with a route, for the zone's DNSKEY records.

    `wanted` contains keys as (flags, algorithm, public part). All faults, such as network errors, are part of the
    result and never raised. Nothing is queried if there are too many servers or addresses.
    """
    zone = Zone(zone_name, tuple(sorted(nameservers)))
    if not nameservers or len(nameservers) > parent_dns.MOST_SERVERS:
        return SignersLook(
            gettext("{name} has no name servers or too many ({count}).").format(name=zone_name, count=len(nameservers))
        )
    deadline = time.monotonic() + parent_dns.SECONDS
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="signers") as pool:
        servers, faults = parent_dns.servers_of(zone, parent_dns.Probe(resolver, networks, port, deadline, pool))
        if len(servers) > parent_dns.MOST_ADDRESSES:
            return SignersLook(
                gettext("The name servers for {parent} have more than {most} addresses.").format(
                    parent=zone_name, most=parent_dns.MOST_ADDRESSES
                )
            )
        answers = list(pool.map(lambda server: _ask(server, zone_name, wanted, port, deadline), servers))
    faults += [joined(": ", (server, fault)) for server, (fault, _) in zip(servers, answers, strict=True) if fault]
    return SignersLook(
        parent_dns.describe_faults(
            gettext("Some name servers for {name} don’t have the DNSKEY records").format(name=zone_name), faults
        ),
        max((ttl for _, ttl in answers), default=0),
    )


def _ask(
    server: parent_dns.Server, zone_name: str, wanted: Collection[tuple[int, int, bytes]], port: int, deadline: float
) -> tuple[str, int]:
    """Return the fault in an answer, or "" if all keys are there, and its DNSKEY TTL, or 0 if it doesn't count."""
    try:
        answer = exchange(server.address, zone_name, rdtypes.DNSKEY, deadline=deadline, port=port)
        if answer.rcode() != dns.rcode.NOERROR:
            raise parent_dns.Unusable(rcode_text(answer))
        if not answer.flags & dns.flags.AA:
            raise parent_dns.Unusable(gettext("not authoritative"))
        found = rrset_at(answer.answer, name_of(zone_name), rdtypes.DNSKEY)
        if found is None or len(found) > _MOST_KEYS:
            raise parent_dns.Unusable(
                gettext("no DNSKEY records")
                if found is None
                else gettext("more than {most_keys} keys").format(most_keys=_MOST_KEYS)
            )
    except (NoAnswer, parent_dns.Unusable) as exc:
        return str(exc), 0
    known = {(int(item.flags), int(item.algorithm), bytes(item.key)) for item in found}
    lacking = [key_material.key_tag(*key) for key in wanted if key not in known]
    if not lacking:
        return "", found.ttl
    return gettext("missing key {keys}").format(keys=", ".join(map(str, sorted(lacking)))), found.ttl
