"""ALIAS, LUA and records of other signers' keys: types that nodes answer only where they are set up for it."""

from collections.abc import Iterable

from dnspanel.zones.signals import answers_requested
from replication.dns import rdtypes

COMPUTED = frozenset({rdtypes.ALIAS, rdtypes.LUA})
SET_UP = COMPUTED | {rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY}


def reasons_against(types: Iterable[int]) -> dict[int, str]:
    """For each of these types that some node does not answer, the reason. Nothing is asked without one of SET_UP."""
    concerned = SET_UP.intersection(types)
    if not concerned:
        return {}
    found: dict[int, str] = {}
    for _, reasons in answers_requested.send(sender=None, types=concerned):
        found.update(reasons)  # type: ignore[arg-type]  # what a receiver of this signal returns
    return found
