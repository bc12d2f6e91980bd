"""Types and values that only some nodes answer (ALIAS, LUA, keys of other signers), or only some PowerDNS releases."""

from collections.abc import Iterable

from dnspanel.zones.rules import unreadable
from dnspanel.zones.signals import answers_requested
from replication.dns import rdtypes

COMPUTED = frozenset({rdtypes.ALIAS, rdtypes.LUA})
SET_UP = COMPUTED | {rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY}
# All types that require a question to the nodes.
DEPENDING = SET_UP | {rdtypes.CAA}


def reasons_against(types: Iterable[int]) -> dict[int, str]:
    """Return the types, and kinds of values, that some node does not answer, with the reasons.

    Types outside of DEPENDING don't cost a query.
    """
    wanted = DEPENDING.intersection(types)
    concerned = SET_UP.intersection(wanted) | unreadable.depending_kinds(wanted)
    if not concerned:
        return {}
    found: dict[int, str] = {}
    for _, reasons in answers_requested.send(sender=None, types=concerned):
        found.update(reasons)  # type: ignore[arg-type]  # what a receiver of this signal returns
    return found
