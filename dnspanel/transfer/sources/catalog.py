"""The member zones of a catalog zone (RFC 9432).

    version.<catalog>          TXT "2"
    <id>.zones.<catalog>       PTR member
    group.<id>.zones.<catalog> TXT group

Other properties, such as `coo`, say nothing about a zone's content and are passed over.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.texts import gettext
from replication.dns import names, rdtypes

VERSION = '"2"'


class BadCatalog(Exception):
    """The zone is not a catalog that RFC 9432 lets anybody use; the text is a message for people."""


@dataclass(frozen=True, slots=True)
class Member:
    """A zone of a catalog, and the groups that its operator put it into."""

    zone: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the catalog zone: canonical owner name and rdata."""

    name: str
    type: int
    rdata: str


def members(catalog: str, records: Iterable[Record]) -> list[Member]:
    """The members by name; raises BadCatalog, among others where the RFC says that a catalog is broken."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for record in records:
        found[record.name, record.type].append(record.rdata)
    versions = found.get((_below("version", catalog), rdtypes.TXT), [])
    if versions != [VERSION]:
        stated = ", ".join(versions) or gettext("no version at all")
        raise BadCatalog(
            gettext("{catalog} is not a catalog zone of version 2 (RFC 9432): it states {stated}").format(
                catalog=catalog, stated=stated
            )
        )
    place = _below("zones", catalog)
    zones: dict[str, str] = {}
    for (name, type), rdatas in sorted(found.items()):
        if type != rdtypes.PTR or names.parent(name) != place:
            continue
        if len(rdatas) != 1:
            raise BadCatalog(
                gettext("{catalog} is broken: {name} leads to {rdatas} zones").format(
                    catalog=catalog, name=name, rdatas=len(rdatas)
                )
            )
        if rdatas[0] in zones:
            raise BadCatalog(
                gettext("{catalog} is broken: {rdatas} is in it twice, as {zones} and {name}").format(
                    catalog=catalog, rdatas=rdatas[0], zones=zones[rdatas[0]], name=name
                )
            )
        zones[rdatas[0]] = name
    return [
        Member(zone, tuple(sorted(text.strip('"') for text in found.get((_below("group", node), rdtypes.TXT), ()))))
        for zone, node in sorted(zones.items())
    ]


def _below(label: str, name: str) -> str:
    return f"{label}." if name == names.ROOT else f"{label}.{name}"
