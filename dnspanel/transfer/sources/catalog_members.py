"""Read the member zones of a catalog zone (RFC 9432).

    version.<catalog>          TXT "2"
    <id>.zones.<catalog>       PTR member
    group.<id>.zones.<catalog> TXT group
    coo.<id>.zones.<catalog>   PTR the catalog that the member can move to

Other properties don't affect a zone's content and are ignored.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.texts import gettext
from replication.dns import names, rdtypes
from replication.errors import BadName

VERSION = '"2"'


class BadCatalog(Exception):
    """The zone isn't a usable catalog (RFC 9432). The message is for the user."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member zone of a catalog, with its groups, its label, and `coo`, the catalog that can take it over."""

    zone: str
    groups: tuple[str, ...] = ()
    label: str = ""
    coo: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the catalog zone, with canonical owner name and rdata."""

    name: str
    type: int
    rdata: str


def members(catalog: str, records: Iterable[Record]) -> list[Member]:
    """Return the members, sorted by name. Raise BadCatalog if the catalog is broken or not version 2 (RFC 9432)."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for record in records:
        found[record.name, record.type].append(record.rdata)
    versions = found.get((_below("version", catalog), rdtypes.TXT), [])
    if versions != [VERSION]:
        stated = ", ".join(versions) or gettext("no version")
        raise BadCatalog(
            gettext("{catalog} isn’t a version 2 catalog zone (RFC 9432): it states {stated}").format(
                catalog=catalog, stated=stated
            )
        )
    place = _below("zones", catalog)
    zones: dict[str, str] = {}
    for (name, type), rdatas in sorted(found.items()):
        if type != rdtypes.PTR or names.parent(name) != place:
            continue
        zone = _only(catalog, name, rdatas)
        if zone in zones:
            raise BadCatalog(
                gettext("{catalog} is broken: it lists {rdatas} twice, as {zones} and {name}").format(
                    catalog=catalog, rdatas=zone, zones=zones[zone], name=name
                )
            )
        zones[zone] = name
    listed = []
    for zone, node in sorted(zones.items()):
        groups = tuple(sorted(text.strip('"') for text in found.get((_below("group", node), rdtypes.TXT), ())))
        coo, leads = _below("coo", node), found.get((_below("coo", node), rdtypes.PTR))
        label = node.removesuffix(f".{place}")
        listed.append(Member(zone, groups, label, _only(catalog, coo, leads) if leads else ""))
    return listed


def _only(catalog: str, name: str, rdatas: list[str]) -> str:
    """Return the target of a name's PTR (RFC 9432 section 4). Raise BadCatalog if it is invalid or not unique."""
    if len(rdatas) != 1:
        raise BadCatalog(
            gettext("{catalog} is broken: {name} points to {rdatas} zones").format(
                catalog=catalog, name=name, rdatas=len(rdatas)
            )
        )
    try:
        return names.parse(rdatas[0])
    except BadName as exc:
        raise BadCatalog(
            gettext("{catalog} is broken: {name}: {exc}").format(catalog=catalog, name=name, exc=exc)
        ) from exc


def _below(label: str, name: str) -> str:
    return f"{label}." if name == names.ROOT else f"{label}.{name}"
