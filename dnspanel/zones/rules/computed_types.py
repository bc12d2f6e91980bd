"""Find types and values (ALIAS, LUA, other signers' keys) that only some nodes or PowerDNS releases can answer."""

from collections.abc import Iterable

from dnspanel.zones.rules import unreadable
from dnspanel.zones.signals import answers_requested
from replication.dns import rdtypes

COMPUTED = frozenset({rdtypes.ALIAS, rdtypes.LUA})
SET_UP = COMPUTED | {rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY}
# All types for which the nodes must be checked.
DEPENDING = SET_UP | {rdtypes.CAA}


def reasons_against(types: Iterable[int]) -> dict[int, str]:
    """Return the types and kinds of values that some node can't answer, with the reasons.

    Needs no query for types outside of DEPENDING.
    """
    wanted = DEPENDING.intersection(types)
    concerned = SET_UP.intersection(wanted) | unreadable.depending_kinds(wanted)
    if not concerned:
        return {}
    found: dict[int, str] = {}
    for _, reasons in answers_requested.send(sender=None, types=concerned):
        found.update(reasons)  # type: ignore[arg-type]  # what a receiver of this signal returns
    return found
