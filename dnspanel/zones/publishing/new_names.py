"""Find the reasons why zones with certain names can't be created, before a person tries to create them."""

from collections.abc import Sequence

from dnspanel.accounts.actors.actors import Author
from dnspanel.zones.errors import NameRefused, NameReserved, NameTaken
from dnspanel.zones.names.nesting import refusals_by_others, refusals_for_everybody
from dnspanel.zones.publishing.ready_zones import RESERVED, taken_names
from replication.dns import names


def refusals_of(zone_names: Sequence[str], author: Author) -> dict[str, NameRefused]:
    """Return {name: reason} for the names that the author can't create as zones. Needs at most four queries.

    The result is in the order of `zone_names`. Creating one of the other names can still fail: another person can
    create the zone first, or a DS in the parent zone can require a signed zone.
    """
    found: dict[str, NameRefused] = {
        **refusals_by_others(zone_names=zone_names, author=author),
        **refusals_for_everybody(zone_names),
        **{name: NameReserved(name) for name in zone_names if names.is_within(name, RESERVED)},
        **{name: NameTaken(name) for name in taken_names(zone_names)},
    }
    return {name: found[name] for name in zone_names if name in found}
