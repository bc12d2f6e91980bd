"""What stands against zones of some names, told before anybody tries to create them."""

from collections.abc import Sequence

from dnspanel.accounts.actors.actors import Author
from dnspanel.zones.errors import NameRefused, NameReserved, NameTaken
from dnspanel.zones.names.nesting import refusals_by_others, refusals_for_everybody
from dnspanel.zones.publishing.ready_zones import RESERVED, taken_names
from replication.dns import names


def refusals_of(zone_names: Sequence[str], author: Author) -> dict[str, NameRefused]:
    """Why the author may not create zones of some of these names, by name, in their order; in at most four queries.

    Others may be first meanwhile, and a parent may ask for signatures: whoever creates them is told then.
    """
    found: dict[str, NameRefused] = {
        **refusals_by_others(zone_names=zone_names, author=author),
        **refusals_for_everybody(zone_names),
        **{name: NameReserved(name) for name in zone_names if names.is_within(name, RESERVED)},
        **{name: NameTaken(name) for name in taken_names(zone_names)},
    }
    return {name: found[name] for name in zone_names if name in found}
