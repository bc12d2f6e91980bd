"""Grants: some rights over some zones, at some names and types; `actors` says who has which. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnspanel.accounts.actors import name_patterns


class Right(StrEnum):
    """One thing that can be done to a zone; the value is how pages and the API name it."""

    READ = "read"  # know the zone and see what it holds
    ADD = "add"  # publish an RRset that was not there
    CHANGE = "change"  # publish other values, TTL or comment of an RRset
    REMOVE = "remove"  # publish that an RRset is gone
    CREATE_ZONE = "create-zone"
    DELETE_ZONE = "delete-zone"  # and bring it back from the trash
    SETTINGS = "settings"  # tags, team, metadata
    DNSSEC = "dnssec"  # sign, unsign, make and retire keys
    TEMPLATES = "templates"  # make, change and delete templates of these teams, or of the whole panel
    EXPORT_KEYS = "export-keys"  # see private DNSSEC keys: their reader can forge the zone
    GOVERN = "govern"  # say what of the zone needs approval, and when it is frozen; and publish past that


RECORD_RIGHTS = frozenset({Right.ADD, Right.CHANGE, Right.REMOVE})
# The rights that "everything" includes. Exporting private keys and passing others' approval must be granted by name.
EVERY_RIGHT = frozenset(Right) - {Right.EXPORT_KEYS, Right.GOVERN}


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights over all zones, or over those named by id, tag or team.

    `names` (see `name_patterns`) and `types` limit which RRsets may be
    changed; empty means any. They do not limit DELETE_ZONE and SETTINGS, and
    CREATE_ZONE together with limits gives nothing: a new zone is a whole one.
    """

    rights: frozenset[Right]
    everywhere: bool = False
    zones: frozenset[int] = frozenset()
    tags: frozenset[str] = frozenset()
    teams: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()
    types: frozenset[int] = frozenset()

    @property
    def is_limited(self) -> bool:
        """Whether it holds for some names or types only."""
        return bool(self.names or self.types)

    def covers_zone(self, zone_id: int, tags: Collection[str], team_id: int | None) -> bool:
        """Return True if the grant covers the zone with these facts."""
        return (
            self.everywhere
            or zone_id in self.zones
            or (team_id is not None and team_id in self.teams)
            or not self.tags.isdisjoint(tags)
        )

    def covers_rrset(self, zone_name: str, name: str, type: int) -> bool:
        """Return True if the grant's limits by name and type let this RRset through."""
        if self.types and type not in self.types:
            return False
        return not self.names or name_patterns.compile_patterns(self.names).fit(name, zone_name)

    def to_json(self) -> dict[str, Any]:
        """Return the grant as JSON for the database."""
        return {
            "rights": sorted(self.rights),
            "everywhere": self.everywhere,
            "zones": sorted(self.zones),
            "tags": sorted(self.tags),
            "teams": sorted(self.teams),
            "names": list(self.names),
            "types": sorted(self.types),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Grant":
        """Read a grant from `to_json`'s form."""
        return cls(
            rights=frozenset(map(Right, obj["rights"])),
            everywhere=obj["everywhere"],
            zones=frozenset(obj["zones"]),
            tags=frozenset(obj["tags"]),
            teams=frozenset(obj["teams"]),
            names=tuple(obj["names"]),
            types=frozenset(obj["types"]),
        )


def is_part(grant: Grant, other: Grant) -> bool:
    """Return True if `other` gives all that `grant` gives, as far as their forms show."""
    return (
        grant.rights <= other.rights
        and (other.everywhere or (not grant.everywhere and grant.zones <= other.zones))
        and (other.everywhere or (grant.tags <= other.tags and grant.teams <= other.teams))
        and (not other.names or (bool(grant.names) and set(grant.names) <= set(other.names)))
        and (not other.types or (bool(grant.types) and grant.types <= other.types))
    )
