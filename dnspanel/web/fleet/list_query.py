"""Convert the fleet page's filters, layout and order to and from the URL, so views can be shared. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from dnspanel.fleet.node_health import FAULTS, WELL
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.texts import gettext_lazy, gettext_noop

# For more nodes than this, the page shows a table instead of tiles.
MOST_TILES = 100
BLOCK = 25  # rows of the table that are fetched together

SORTS = {
    "name": gettext_lazy("by group and name"),
    "state": gettext_lazy("problems first"),
    "lag": gettext_lazy("furthest behind first"),
}
_LAYOUTS = ("tiles", "table")
_STATE_GROUPS = (gettext_noop("healthy"), gettext_noop("faults"))


@dataclass(frozen=True, slots=True)
class FleetView:
    """The fleet page's filters, layout and order."""

    group: str = ""
    tag: str = ""
    state: str = ""  # a health state, "healthy" or "faults"
    search: str = ""
    layout: str = ""  # empty: chosen by the number of nodes
    sort: str = "name"
    frozen: tuple[int, ...] = ()  # node ids in the order that a person froze

    @property
    def is_filtered(self) -> bool:
        return bool(self.group or self.tag or self.state or self.search)

    def query(self, **changes: Any) -> str:
        """Return the URL query of this view with `changes` applied, or "" if the result is the default view."""
        view = replace(self, **changes)
        fields: dict[str, object] = {
            "group": view.group,
            "tag": view.tag,
            "state": view.state,
            "q": view.search,
            "layout": view.layout,
            "sort": view.sort if view.sort != "name" else "",
            "order": ".".join(map(str, view.frozen)),
        }
        return urlencode({name: value for name, value in fields.items() if value})


def fleet_view(parameters: QueryDict) -> FleetView:
    """Parse the view from the URL. Ignore invalid values."""
    sort, layout = parameters.get("sort", ""), parameters.get("layout", "")
    order = parameters.get("order", "")
    return FleetView(
        group=parameters.get("group", "")[:63],
        tag=parameters.get("tag", "")[:32],
        state=parameters.get("state", "")[:32],
        search=parameters.get("q", "").strip().lower()[:100],
        layout=layout if layout in _LAYOUTS else "",
        sort=sort if sort in SORTS else "name",
        frozen=tuple(int(node_id) for node_id in order.split(".")[:5000] if node_id.isdecimal()),
    )


def arrange(statuses: Iterable[NodeStatus], view: FleetView) -> tuple[NodeStatus, ...]:
    """Return the nodes that match the view, sorted. A frozen order keeps nodes in place while their numbers change."""
    display = [status for status in statuses if _fits(status, view)]
    display.sort(key=_by_name)
    if view.sort == "lag":
        display.sort(key=lambda status: -status.health.lag)
    elif view.sort == "state":
        display.sort(key=lambda status: (status.health.word not in FAULTS, status.health.word in WELL))
    if view.frozen:
        places = {node_id: place for place, node_id in enumerate(view.frozen)}
        display.sort(key=lambda status: places.get(status.node.pk, len(places)))
    return tuple(display)


def states_of(statuses: Iterable[NodeStatus]) -> list[str]:
    """Return the filter's choices: the state groups, then these nodes' health states."""
    return [*_STATE_GROUPS, *sorted({status.health.word.value for status in statuses})]


def tags_of(statuses: Iterable[NodeStatus]) -> list[str]:
    """Return these nodes' tags, as choices for the filter."""
    return sorted({tag for status in statuses for tag in status.node.tags})


def _by_name(status: NodeStatus) -> tuple[int, str]:
    group = status.node.group
    return group.order if group else 1 << 16, status.node.name


def _fits(status: NodeStatus, view: FleetView) -> bool:
    node, word = status.node, status.health.word
    if view.group and (node.group.name if node.group else "") != view.group:
        return False
    if view.tag and view.tag not in node.tags:
        return False
    if view.state in ("healthy", "well"):
        return word in WELL
    if view.state == "faults":
        return word in FAULTS
    if view.state and view.state != word:
        return False
    return view.search in node.name or view.search in node.dns_address
