"""ALIAS and LUA: types that nodes answer only where they are set up for it."""

from collections.abc import Iterable

from dnspanel.zones.signals import answers_requested
from replication.dns import rdtypes

COMPUTED = frozenset({rdtypes.ALIAS, rdtypes.LUA})


def reasons_against(types: Iterable[int]) -> dict[int, str]:
    """For each computed type among these that some node does not answer, the reason. Nothing is asked without one."""
    computed = COMPUTED.intersection(types)
    if not computed:
        return {}
    found: dict[int, str] = {}
    for _, reasons in answers_requested.send(sender=None, types=computed):
        found.update(reasons)  # type: ignore[arg-type]  # what a receiver of this signal returns
    return found
