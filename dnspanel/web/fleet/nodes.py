"""Views of the fleet page: nodes with live numbers, as tiles or as a table, and actions on the selected nodes."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.fleet import telemetry
from dnspanel.fleet.errors import FleetError
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.reads.queries import NodeStatus, head, statuses_of, watched_statuses
from dnspanel.fleet.reads.summary import late_publication
from dnspanel.fleet.rollout.waiting_publications import Waiting, describe
from dnspanel.publish.encoding.stall import stalls
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.fleet.forms import DrainForm
from dnspanel.web.fleet.list_query import BLOCK, MOST_TILES, SORTS, FleetView, arrange, fleet_view, states_of, tags_of
from dnspanel.web.fleet.minute_squares import squares_of
from dnspanel.web.fleet.node import ACTS
from dnspanel.web.fleet.tiles import Tile, fleet_line, tile_of
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.zones.rights import access
from replication.wire.position import Position

_MOST_NAMED = 5


@require_safe
def node_list(request: PanelRequest) -> HttpResponse:
    """List the nodes that match the filters, with live numbers. htmx later fetches only the grid or the totals."""
    access.require(request.user, Permission.FLEET)
    now = timezone.now()
    everything = watched_statuses(now=now)
    newest, late = head(), late_publication(everything, now=now)
    if request.GET.get("part") == "line":
        return _line(request, everything, newest, late)
    view = fleet_view(request.GET)
    display = arrange(everything, view)
    is_table = view.layout == "table" or (not view.layout and len(display) > MOST_TILES)
    rows = request.GET.get("rows", "")[:5]
    visible = display[: max(BLOCK, int(rows) if rows.isdecimal() else 0)] if is_table else display
    # The page of a table has live numbers for the first rows. Later, each block of rows fetches its own.
    live = telemetry.live_now([status.node.pk for status in (visible[: 2 * BLOCK] if is_table else visible)])
    tiles = [tile_of(status, live.get(status.node.pk), newest) for status in visible]
    rates = telemetry.live_now([status.node.pk for status in everything], seconds=1) if is_table else live
    context = {
        "line": fleet_line(everything, rates, newest, late),
        "tiles": tiles,
        "blocks": [_block(tiles[at : at + BLOCK]) for at in range(0, len(tiles), BLOCK)] if is_table else (),
        "is_table": is_table,
        "more_rows": len(visible) + 4 * BLOCK if len(visible) < len(display) else 0,
        "stalls": stalls(),
        "late": describe(late, now) if late else "",
        "no_live_numbers": bool(display) and not live,
        "total": len(everything),
        "squares": None if is_fragment(request) else squares_of(everything, "", now),
        "order": ".".join(str(status.node.pk) for status in display),
        "drain_form": DrainForm(auto_id="ticked-%s"),
        **_filters(view, everything),
    }
    return render(request, "fleet/_grid.html" if is_fragment(request) else "fleet/list.html", context)


def _line(
    request: PanelRequest, statuses: Sequence[NodeStatus], newest: Position, late: Waiting | None
) -> HttpResponse:
    """Return only the line of totals above the table, computed from each node's latest second."""
    rates = telemetry.live_now([status.node.pk for status in statuses], seconds=1)
    line = fleet_line(statuses, rates, newest, late)
    return render(request, "fleet/_fleet_totals.html", {"line": line, "is_table": True})


@require_safe
def node_rows(request: PanelRequest) -> HttpResponse:
    """Return the requested table rows with current numbers. Visible rows reload themselves."""
    access.require(request.user, Permission.FLEET)
    ids = [int(node_id) for node_id in request.GET.get("ids", "").split(".")[:BLOCK] if node_id.isdecimal()]
    statuses = statuses_of(ids, now=timezone.now())
    live, newest = telemetry.live_now(ids), head()
    tiles = [tile_of(status, live.get(status.node.pk), newest) for status in statuses]
    return render(request, "fleet/_rows.html", {"block": _block(tiles)})


@require_POST
def node_acts(request: PanelRequest) -> HttpResponse:
    """Drain, disable, resume, resync or check the selected nodes. Messages name the changed nodes and any refusals."""
    access.require(request.user, Permission.NODES)
    act = _ACTS.get(request.POST.get("act", ""))
    if act is None:
        raise Http404
    names = request.POST.getlist("node")[:1000]
    nodes = Node.objects.filter(name__in=names).exclude(state=NodeState.RETIRED).order_by("name")
    done: list[str] = []
    refused: list[str] = []
    now = timezone.now()
    for node in nodes:
        try:
            act[0](request, node, now)
        except FleetError as exc:
            refused.append(str(exc))
        else:
            done.append(node.name)
    if not names:
        messages.error(request, gettext("No nodes selected. Nothing was changed."))
    if done:
        say_done(request, act[1].format(_list_names(done)))
    if refused:
        messages.error(request, " ".join(refused[:_MOST_NAMED]) + (" …" if len(refused) > _MOST_NAMED else ""))
    return redirect(_back(request))


def _disable(request: PanelRequest, node: Node, now: datetime) -> None:
    reason = request.POST.get("reason", "").strip()[:200]
    node_lifecycle.drain(node=node, now=now, by=request.user, reason=reason or "disabled")


# The action of each button, and the message after it.
_ACTS: dict[str, tuple[Callable[[PanelRequest, Node, datetime], Any], str]] = {
    "drain": (ACTS["drain"][0], gettext_lazy("{} drained. The nodes still serve their current data.")),
    "disable": (
        _disable,
        gettext_lazy("{} drained until someone resumes updates. The nodes still serve their current data."),
    ),
    "resume": (ACTS["resume"][0], gettext_lazy("Updates resumed on {}.")),
    "resync": (ACTS["resync"][0], gettext_lazy("Full resync of {} started.")),
    "check": (ACTS["check"][0], gettext_lazy("Started checking every row on {}.")),
}


def _filters(view: FleetView, statuses: Sequence[NodeStatus]) -> dict[str, Any]:
    groups = {status.node.group.name: status.node.group for status in statuses if status.node.group}
    return {
        "view": view,
        "query": view.query(),
        "unfrozen": view.query(frozen=()),
        "sort_text": SORTS[view.sort],
        "sorts": SORTS.items(),
        "groups": sorted(groups, key=lambda name: groups[name].order),
        "tags": tags_of(statuses),
        "states": states_of(statuses),
    }


def _block(tiles: Sequence[Tile]) -> dict[str, Any]:
    return {"tiles": tiles, "ids": ".".join(str(tile.status.node.pk) for tile in tiles)}


def _list_names(names: Sequence[str]) -> str:
    display = ", ".join(names[:_MOST_NAMED])
    return (
        display
        if len(names) <= _MOST_NAMED
        else gettext("{display} and {value} more").format(display=display, value=len(names) - _MOST_NAMED)
    )


def _back(request: PanelRequest) -> str:
    """Return the URL of the fleet page with the form's filters. Omit filters that `fleet_view` doesn't support."""
    query = fleet_view(QueryDict(request.POST.get("query", ""))).query()
    return f"{reverse('node-list')}?{query}" if query else reverse("node-list")
