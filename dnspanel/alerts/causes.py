"""Separate causes from consequences. Only causes become alerts. Pure."""

from collections.abc import Collection, Iterable, Mapping

from dnspanel.conditions import Condition

# The key of a cause that may not be an alert yet: publications wait before they reach the nodes.
WAITS = "waits"

_LATE = frozenset({"node.late", "node.stale"})
_NOT_DELIVERED = _LATE | {"panel.late", "panel.log_age"}

# From a cause to its consequences. The cause is a kind, or the key of one alert. The consequences are kinds.
CONSEQUENCES: Mapping[str, frozenset[str]] = {
    # A hold stops encoding and delivery until a person decides.
    "panel.held": _NOT_DELIVERED | {"panel.stall", "panel.stopped"},
    "panel.stall": _NOT_DELIVERED,
    "panel.redis": _NOT_DELIVERED | {"panel.evidence_behind"},
    "panel.process:publish": _NOT_DELIVERED,
    "panel.process:push": _NOT_DELIVERED | {"panel.evidence_behind"},
    "panel.stopped": _LATE,
    # The alert about waiting publications already names the place.
    WAITS: _LATE | {"panel.log_age"},
}
# More consequences of a hold, on nodes with newer data than the panel: they reject its older log and snapshots.
OF_NODES_AHEAD = frozenset({"node.rejecting", "node.digest", "node.diverged", "node.bootstrap"})


def split(
    found: Iterable[Condition], *, also: Collection[str] = (), ahead: Collection[int] = ()
) -> tuple[list[Condition], list[tuple[str, Condition]]]:
    """Split problems into causes and consequences. Each consequence is paired with its cause's kind or key.

    `also` are kinds of causes that aren't alerts yet. `ahead` are the ids of nodes that have newer data than the panel.
    """
    everything = list(found)
    present = {each.kind for each in everything} | {each.key for each in everything} | set(also)
    causes: list[Condition] = []
    consequences: list[tuple[str, Condition]] = []
    for each in everything:
        cause = _cause_of(each, present, ahead)
        if cause:
            consequences.append((cause, each))
        else:
            causes.append(each)
    return causes, consequences


def _cause_of(wrong: Condition, present: Collection[str], ahead: Collection[int]) -> str:
    """Return the kind or key of the problem's cause, or "" if the problem has no cause in `present`."""
    if wrong.kind in OF_NODES_AHEAD and "panel.held" in present and wrong.node_id in ahead:
        return "panel.held"
    return next((cause for cause, kinds in CONSEQUENCES.items() if cause in present and wrong.kind in kinds), "")
