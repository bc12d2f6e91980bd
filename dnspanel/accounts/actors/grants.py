"""Define grants: rights over some zones, limited to some names and types. `actors` decides who gets them. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnspanel.accounts.actors import name_patterns


class Right(StrEnum):
    """A kind of action on a zone. The value is its name on pages and in the API."""

    READ = "read"  # see the zone and its content
    ADD = "add"  # publish a new RRset
    CHANGE = "change"  # publish other values, TTL or comment of an RRset
    REMOVE = "remove"  # publish the removal of an RRset
    CREATE_ZONE = "create-zone"
    DELETE_ZONE = "delete-zone"  # delete the zone, and restore it from the trash
    SETTINGS = "settings"  # tags, team, metadata
    DNSSEC = "dnssec"  # sign, unsign, create and retire keys
    TEMPLATES = "templates"  # create, change and delete templates of these teams, or panel-wide ones
    EXPORT_KEYS = "export-keys"  # read private DNSSEC keys, which allows forging the zone
    GOVERN = "govern"  # set the zone's approval rules and freezes, and bypass them


RECORD_RIGHTS = frozenset({Right.ADD, Right.CHANGE, Right.REMOVE})
# The rights that "everything" includes. Exporting keys and bypassing approval must be granted by name.
EVERY_RIGHT = frozenset(Right) - {Right.EXPORT_KEYS, Right.GOVERN}


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights over all zones, or over zones selected by id, tag or team.

    `names` (see `name_patterns`) and `types` limit which RRsets can be changed, and which a token can read. An empty
    limit allows all. The limits don't apply to rights over whole zones, such as DELETE_ZONE and SETTINGS. CREATE_ZONE
    has no effect in a grant with limits, because a new zone can contain any name.
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
        """True if the grant is limited to some names or types."""
        return bool(self.names or self.types)

    def covers_zone(self, zone_id: int, tags: Collection[str], team_id: int | None) -> bool:
        """Return True if the grant covers the zone with this id, these tags and this team."""
        return (
            self.everywhere
            or zone_id in self.zones
            or (team_id is not None and team_id in self.teams)
            or not self.tags.isdisjoint(tags)
        )

    def covers_rrset(self, zone_name: str, name: str, type: int) -> bool:
        """Return True if the grant's limits on names and types allow this RRset."""
        if self.types and type not in self.types:
            return False
        return not self.names or name_patterns.compile_patterns(self.names).fit(name, zone_name)

    def to_json(self) -> dict[str, Any]:
        """Return the grant as a JSON object, as the database stores it."""
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
        """Create a grant from a JSON object that `to_json` returned."""
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
    """Return True if `other` includes everything that `grant` gives.

    Only the fields are compared, so the result can be False although both grants select the same zones.
    """
    return (
        grant.rights <= other.rights
        and (other.everywhere or (not grant.everywhere and grant.zones <= other.zones))
        and (other.everywhere or (grant.tags <= other.tags and grant.teams <= other.teams))
        and (not other.names or (bool(grant.names) and set(grant.names) <= set(other.names)))
        and (not other.types or (bool(grant.types) and grant.types <= other.types))
    )
