"""Select zones for an export or a comparison."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from dnspanel.texts import gettext, ngettext
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.models import Zone
from replication.dns import names


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of zones by canonical names or by a search. If both are empty, it contains every zone."""

    names: tuple[str, ...] = ()
    search: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"names": list(self.names), "search": self.search}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Selection":
        return cls(tuple(stored.get("names", ())), stored.get("search", ""))

    def among(self, zones: "QuerySet[Zone]") -> "QuerySet[Zone]":
        if self.names:
            return zones.filter(name__in=self.names)
        return found_zones(zones, self.search)

    @property
    def title(self) -> str:
        if len(self.names) == 1:
            return names.display(self.names[0])
        if self.names:
            count = len(self.names)
            return ngettext("{count:,} zone", "{count:,} zones", count).format(count=count)
        return gettext("zones with “{search}”").format(search=self.search) if self.search else gettext("all zones")


EVERYTHING = Selection()
