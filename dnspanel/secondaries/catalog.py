"""Catalog zones (RFC 9432): the name of a secondary's, and what it says about its members.

A member's record lies at `<label>.zones.<catalog>`; the label is another one each time that a zone becomes a member,
so whoever follows the catalog then begins the zone anew (RFC 9432, section 5.6).
"""

from collections.abc import Iterator

from dnspanel.accounts.tokens.tsig import OF_SECONDARIES
from dnspanel.secondaries.models import Member, Secondary
from replication.dns import rdtypes
from replication.dns.rrset import RRset

TTL = 0  # nobody but those who transfer it reads it
# Refresh and retry are short, because nobody but our NOTIFY tells of new members.
_TIMERS = "60 30 2419200 0"
# RFC 9432, section 4.1, wants an NS that leads nowhere.
NOWHERE = "invalid."
VERSION = "2"
_START = "catalog-"
# The group of a zone's tags, "" for none: that of the first tag that is one.
GROUP_OF_TAGS = """COALESCE((
        SELECT t.tag FROM unnest({groups}) WITH ORDINALITY t (tag, place)
        WHERE t.tag = ANY({tags}) ORDER BY t.place LIMIT 1
    ), '')"""
_MEMBER = ("label", "zone_name", "catalog_group", "coo")


def catalog_name(secondary: Secondary) -> str:
    """The name of the secondary's catalog zone, which stays as it is."""
    return f"{_START}{secondary.pk}.{OF_SECONDARIES}"


def is_catalog_of(secondary: Secondary, name: str) -> bool:
    """Whether this canonical name is that of the secondary's own catalog zone."""
    return name == catalog_name(secondary)


def soa_of(secondary: Secondary, serial: int) -> RRset:
    """Its SOA at this serial."""
    return catalog_soa(catalog_name(secondary), serial)


def catalog_soa(name: str, serial: int) -> RRset:
    """The SOA of the catalog zone of this name."""
    return RRset(name, rdtypes.SOA, TTL, (f"{NOWHERE} {NOWHERE} {serial} {_TIMERS}",))


def head_of(secondary: Secondary) -> tuple[RRset, RRset]:
    """What it has besides SOA and members: an NS and its version."""
    name = catalog_name(secondary)
    return (
        RRset(name, rdtypes.NS, TTL, (NOWHERE,)),
        RRset(f"version.{name}", rdtypes.TXT, TTL, (f'"{VERSION}"',)),
    )


def member_owner(catalog: str, label: str) -> str:
    """Where the record of a member lies."""
    return f"{label}.zones.{catalog}"


def member_rrsets(catalog: str, label: str, zone_name: str, group: str, coo: str = "", ttl: int = TTL) -> list[RRset]:
    """The records by which a zone is a member: in a group, or on its way to another catalog, if so (section 4.3).

    Another TTL, which means nothing, makes the first one a new record to who transfers changes.
    """
    owner = member_owner(catalog, label)
    found = [RRset(owner, rdtypes.PTR, ttl, (zone_name,))]
    if group:
        found.append(RRset(f"group.{owner}", rdtypes.TXT, TTL, (f'"{group}"',)))
    if coo:
        found.append(RRset(f"coo.{owner}", rdtypes.PTR, TTL, (coo,)))
    return found


def members_of(secondary: Secondary) -> Iterator[RRset]:
    """The records of all members, a bounded number in memory at a time."""
    name = catalog_name(secondary)
    members = Member.objects.filter(secondary=secondary, until=None).order_by("pk")
    for row in members.values_list(*_MEMBER).iterator(2_000):
        yield from member_rrsets(name, *row)


def changes_since(secondary: Secondary, serial: int, *, most: int) -> tuple[list[RRset], list[RRset]] | None:
    """The member records that are gone since this serial, and those that are new; None if that is unknown, or long."""
    if not secondary.catalog_floor <= serial <= secondary.catalog_serial:
        return None
    name = catalog_name(secondary)
    members = Member.objects.filter(secondary=secondary).order_by("pk")
    gone = members.filter(since__lte=serial, until__gt=serial).values_list(*_MEMBER)[: most + 1]
    come = members.filter(since__gt=serial, until=None).values_list(*_MEMBER)[: most + 1]
    deleted = [rrset for row in gone for rrset in member_rrsets(name, *row)]
    added = [rrset for row in come for rrset in member_rrsets(name, *row)]
    return None if len(deleted) + len(added) > most else (deleted, added)
