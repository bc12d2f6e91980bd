"""Build the catalog zone (RFC 9432) of a secondary: its name, and the records of its members.

A member's record is at `<label>.zones.<catalog>`. A zone gets a new label each time it becomes a member, which makes
consumers of the catalog reset the zone (RFC 9432, section 5.6).
"""

from collections.abc import Iterator

from dnspanel.accounts.tokens.tsig_secrets import OF_SECONDARIES
from dnspanel.secondaries.models import Member, Secondary
from replication.dns import rdtypes
from replication.dns.rrset import RRset

TTL = 0  # only servers that transfer the catalog see it
# Refresh and retry are short, because only our NOTIFY announces new members.
_TIMERS = "60 30 2419200 0"
# RFC 9432, section 4.1, requires an NS with an unusable name.
NOWHERE = "invalid."
VERSION = "2"
_START = "catalog-"
# The group for a zone's tags: the first tag that is a group, or "".
GROUP_OF_TAGS = """COALESCE((
        SELECT t.tag FROM unnest({groups}) WITH ORDINALITY t (tag, place)
        WHERE t.tag = ANY({tags}) ORDER BY t.place LIMIT 1
    ), '')"""
_MEMBER = ("label", "zone_name", "catalog_group", "coo")


def catalog_name(secondary: Secondary) -> str:
    """Return the name of the secondary's catalog zone. The name never changes."""
    return f"{_START}{secondary.pk}.{OF_SECONDARIES}"


def is_catalog_of(secondary: Secondary, name: str) -> bool:
    """Return True if this canonical name is the name of the secondary's own catalog zone."""
    return name == catalog_name(secondary)


def soa_of(secondary: Secondary, serial: int) -> RRset:
    """Return the SOA of the secondary's catalog, with this serial."""
    return catalog_soa(catalog_name(secondary), serial)


def catalog_soa(name: str, serial: int) -> RRset:
    """Return the SOA of the catalog zone with this name and serial."""
    return RRset(name, rdtypes.SOA, TTL, (f"{NOWHERE} {NOWHERE} {serial} {_TIMERS}",))


def head_of(secondary: Secondary) -> tuple[RRset, RRset]:
    """Return the catalog's NS record and version record."""
    name = catalog_name(secondary)
    return (RRset(name, rdtypes.NS, TTL, (NOWHERE,)), RRset(f"version.{name}", rdtypes.TXT, TTL, (f'"{VERSION}"',)))


def member_owner(catalog: str, label: str) -> str:
    """Return the owner name of a member's record."""
    return f"{label}.zones.{catalog}"


def member_rrsets(catalog: str, label: str, zone_name: str, group: str, coo: str = "", ttl: int = TTL) -> list[RRset]:
    """Return the records of a member, with its group and its `coo` (RFC 9432, section 4.3).

    The TTL must not change, because IXFR consumers would treat a record with another TTL as a new member.
    """
    owner = member_owner(catalog, label)
    found = [RRset(owner, rdtypes.PTR, ttl, (zone_name,))]
    if group:
        found.append(RRset(f"group.{owner}", rdtypes.TXT, TTL, (f'"{group}"',)))
    if coo:
        found.append(RRset(f"coo.{owner}", rdtypes.PTR, TTL, (coo,)))
    return found


def members_of(secondary: Secondary) -> Iterator[RRset]:
    """Yield the records of all members. Only a limited number is in memory at a time."""
    name = catalog_name(secondary)
    members = Member.objects.filter(secondary=secondary, until=None).order_by("pk")
    for row in members.values_list(*_MEMBER).iterator(2_000):
        yield from member_rrsets(name, *row)


def changes_since(secondary: Secondary, serial: int, *, most: int) -> tuple[list[RRset], list[RRset]] | None:
    """Return the member records (removed, added) since this serial. Return None if they are unknown or too many."""
    if not secondary.catalog_floor <= serial <= secondary.catalog_serial:
        return None
    name = catalog_name(secondary)
    members = Member.objects.filter(secondary=secondary).order_by("pk")
    gone = members.filter(since__lte=serial, until__gt=serial).values_list(*_MEMBER)[: most + 1]
    come = members.filter(since__gt=serial, until=None).values_list(*_MEMBER)[: most + 1]
    deleted = [rrset for row in gone for rrset in member_rrsets(name, *row)]
    added = [rrset for row in come for rrset in member_rrsets(name, *row)]
    return None if len(deleted) + len(added) > most else (deleted, added)
