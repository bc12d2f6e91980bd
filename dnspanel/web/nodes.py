"""Pages of the fleet: the grid of nodes, one node, adding one."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors import can
from dnspanel.accounts.roles import Permission
from dnspanel.fleet import enroll, telemetry
from dnspanel.fleet.errors import BadNode, NameTaken, WrongState
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.queries import head, node_standing, node_standings
from dnspanel.publish.stall import stalls
from dnspanel.web.forms import NewNodeForm
from dnspanel.web.frame import PanelRequest, no_store
from dnspanel.web.tiles import fleet_line, tile_of
from dnspanel.zones import access

# What a person may do to a node, and what the page says afterwards.
_ACTS = {
    "approve": (enroll.approve, "{} is approved; its first zones are on their way."),
    "decline": (enroll.decline, "The request of {} is declined; a new code lets it ask again."),
    "drain": (enroll.drain, "{} takes no more pushes; it keeps serving what it has."),
    "resume": (enroll.resume, "{} takes pushes again, beginning with what it missed."),
    "retire": (enroll.retire, "{} has left the fleet."),
}


@require_safe
def node_list(request: PanelRequest) -> HttpResponse:
    """Every node with its live numbers; htmx fetches the grid alone every two seconds."""
    access.require(request.user, Permission.FLEET)
    standings = node_standings(now=timezone.now())
    live = telemetry.live_now([standing.node.pk for standing in standings])
    newest = head()
    context = {
        "line": fleet_line(standings, live, newest),
        "tiles": [tile_of(standing, live.get(standing.node.pk), newest) for standing in standings],
        "stalls": stalls(),
        "no_live_numbers": bool(standings) and not live,
    }
    return render(request, "fleet/_grid.html" if request.htmx else "fleet/list.html", context)


@require_safe
def node_detail(request: PanelRequest, name: str) -> HttpResponse:
    """One node; htmx fetches its facts alone every two seconds, the charts fetch `node_points`."""
    access.require(request.user, Permission.FLEET)
    standing = node_standing(name=name, now=timezone.now())
    live = telemetry.live_now([standing.node.pk])
    context: dict[str, object] = {
        "tile": tile_of(standing, live.get(standing.node.pk), head()),
        "node": standing.node,
        "health": standing.health,
        "may_change": can(request.user, Permission.NODES),
        "drained": standing.node.state == NodeState.DRAINED,
        "active": standing.node.state == NodeState.ACTIVE,
        "retired": standing.node.state == NodeState.RETIRED,
    }
    if standing.node.state == NodeState.AWAITING_APPROVAL:
        return redirect("node-enrolment", name)
    return render(request, "fleet/_node_live.html" if request.htmx else "fleet/node.html", context)


@require_safe
def node_points(request: PanelRequest, name: str) -> JsonResponse:
    """The node's numbers second by second after `after` (seconds since 1970), for the charts."""
    access.require(request.user, Permission.FLEET)
    node = enroll.node_by_name(name)
    try:
        after = float(request.GET.get("after", "0"))
    except ValueError:
        after = 0.0
    points = telemetry.points(node.pk, after=after)
    return JsonResponse({"now": timezone.now().timestamp(), "points": points})


@no_store
@require_http_methods(["GET", "HEAD", "POST"])
def node_new(request: PanelRequest) -> HttpResponse:
    """Make a node that waits for its agent, and show the command with its one-time code, this once."""
    access.require(request.user, Permission.NODES)
    form = NewNodeForm(request.POST or None)
    if form.is_valid():
        now = timezone.now()
        try:
            node = enroll.create_node(now=now, by=request.user, **form.cleaned_data)
        except BadNode as exc:
            form.refuse(exc.field, str(exc))
        except NameTaken as exc:
            form.refuse("name", str(exc))
        else:
            return _enrolment(request, node, code=enroll.make_code(node=node, now=now, by=request.user))
    return render(request, "fleet/new.html", {"form": form}, status=422 if form.is_bound else 200)


@no_store
@require_http_methods(["GET", "HEAD", "POST"])
def node_enrolment(request: PanelRequest, name: str) -> HttpResponse:
    """How far a node has come on its way into the fleet; a POST makes a new code."""
    access.require(request.user, Permission.FLEET)
    node = enroll.node_by_name(name)
    if request.method != "POST":
        return _enrolment(request, node)
    access.require(request.user, Permission.NODES)
    try:
        return _enrolment(request, node, code=enroll.make_code(node=node, now=timezone.now(), by=request.user))
    except WrongState as exc:
        messages.error(request, str(exc))
        return redirect("node-detail", node.name)


def _enrolment(request: PanelRequest, node: Node, code: str = "") -> HttpResponse:
    waiting = enroll.request_of(node)
    context: dict[str, Any] = {
        "node": node,
        "code": code,
        "panel_url": settings.PANEL_URL,
        "fingerprint": waiting.csr_sha256 if waiting else "",
        "awaiting": node.state == NodeState.AWAITING_APPROVAL,
        "minutes": int(enroll.CODE_LIFETIME.total_seconds() // 60),
        "may_change": can(request.user, Permission.NODES),
    }
    return render(request, "fleet/_enrolment_steps.html" if request.htmx else "fleet/enrolment.html", context)


@require_POST
def node_act(request: PanelRequest, name: str, act: str) -> HttpResponse:
    """Approve, decline, drain, resume or retire the node."""
    if act not in _ACTS:
        raise Http404
    access.require(request.user, Permission.NODES)
    node = enroll.node_by_name(name)
    verb, sentence = _ACTS[act]
    refusal = _refusal(request, node, act)
    if not refusal:
        try:
            verb(node=node, now=timezone.now(), by=request.user)
        except WrongState as exc:
            refusal = str(exc)
    if refusal:
        messages.error(request, f"{refusal} Nothing was changed.")
    else:
        messages.success(request, sentence.format(node.name))
    if act == "retire" and not refusal:
        return redirect("node-list")
    return redirect("node-enrolment" if act in {"approve", "decline"} else "node-detail", node.name)


def _refusal(request: PanelRequest, node: Node, act: str) -> str:
    """What a person must have seen or typed before these acts; empty when it is right."""
    if act == "approve":
        waiting = enroll.request_of(node)
        if waiting is None or waiting.csr_sha256 != request.POST.get("fingerprint"):
            return "The request has changed since you compared it."
    if act == "retire" and request.POST.get("typed", "").strip() != node.name:
        return f"Type {node.name} to retire it."
    return ""
