"""The input and the progress of a catalog's turn. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dnspanel.catalogs.member_plan import rule_of
from dnspanel.catalogs.models import Catalog, Rule
from dnspanel.transfer.sources.catalog_members import Member

# A turn creates, removes or changes at most this number of zones.
BATCH = 200


@dataclass(slots=True)
class Turn:
    """The input of a catalog's turn, with counters of the changes that the turn has made."""

    catalog: Catalog
    listed: Mapping[str, Member]
    rules: Mapping[int, Rule]  # by id, in order of precedence
    now: datetime
    made: int = 0
    removed: int = 0
    moved: int = 0
    reset: int = 0
    left: bool = False  # True if work is left for the next turn
    members: set[int] = field(default_factory=set)  # ids of zones that allow new members above and below

    @property
    def name(self) -> str:
        return self.catalog.zone.name

    def rule_for(self, groups: Collection[str]) -> int | None:
        return rule_of(groups, [(pk, rule.group) for pk, rule in self.rules.items()])
