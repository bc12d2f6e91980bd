"""Views of one node: its health with the reason, its events, and actions on the node."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import can
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.fleet import resync, telemetry
from dnspanel.fleet.errors import BadNode, FleetError, WrongState
from dnspanel.fleet.models import Bootstrap, Divergence, Node, NodeEvent, NodeState
from dnspanel.fleet.nodes import fronts, machines, node_lifecycle, rotate, unjoined
from dnspanel.fleet.nodes.reported import Reported, describe_clock, explain_rebuild, read_report
from dnspanel.fleet.nodes.reported_setup import setup_differences
from dnspanel.fleet.reads.queries import head, node_status, unproven_of
from dnspanel.fleet.rollup import LEVELS, points_of
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.fleet.forms import DrainForm, NodeDescriptionForm
from dnspanel.web.fleet.tiles import room, tile_of
from dnspanel.web.fleet.top import log_for, top_of
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.frame.outcomes import NOTHING_CHANGED, reporting, say_done
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication import __version__
from replication.errors import ReplicationError
from replication.wire.protocol import Unanswered

MOST_EVENTS = 40
MOST_DIVERGENCES = 20
MOST_UNANSWERED = 20


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """The details on a node's page that its tile doesn't show."""

    reported: Reported
    room: str
    clock: str  # the clock's error, if it matters
    checked: datetime | None
    rebuild: str  # sentences about the reason why another schema is needed
    machines: str  # the reason why pushes stopped, if two machines use this node's identity
    bootstrap: Bootstrap | None
    keys: tuple[str, ...]  # the first digits of the signing keys that it accepts
    expired: bool
    unanswered: tuple[Unanswered, ...]  # ALIAS and LUA records that it can't answer
    setup: tuple[str, ...]  # sentences about settings that differ from the panel's
    panel_version: str

    @property
    def other_powerdns(self) -> str:
        """The installed PowerDNS version if it differs from the running one, else empty."""
        return self.reported.installed if self.reported.installed != self.reported.powerdns else ""


@require_safe
def node_detail(request: PanelRequest, name: str) -> HttpResponse:
    """Show one node, or redirect to its enrolment page while it awaits approval.

    Every two seconds, htmx fetches only the changing part. The charts fetch `node_points`.
    """
    access.require(request.user, Permission.FLEET)
    now = timezone.now()
    status = node_status(name=name, now=now)
    node = status.node
    if node.state == NodeState.AWAITING_APPROVAL:
        return redirect("node-enrolment", name)
    live = telemetry.live_now([node.pk])
    context: dict[str, object] = {
        "tile": tile_of(status, live.get(node.pk), head()),
        "node": node,
        "health": status.health,
        "details": details_of(node, now),
        "events": list(NodeEvent.objects.filter(node=node).select_related("by").order_by("-id")[:MOST_EVENTS]),
        "divergences": _divergences(request, node),
        "unproven": unproven_of(node, access.zones_within_reach(request.user, Right.READ)),
        "may_change": can(request.user, Permission.NODES),
        "drained": node.state == NodeState.DRAINED,
        "active": node.state == NodeState.ACTIVE,
        "retired": node.state == NodeState.RETIRED,
        "predecessors": node_lifecycle.predecessors_of(node),
    }
    if node.is_front:
        context |= {"front": fronts.report_of(node), "has_backends": bool(fronts.terms_of(node).backends)}
    if is_fragment(request):
        return render(request, "fleet/_node_live.html", context)
    context |= {
        "drain_form": DrainForm(),
        "description_form": NodeDescriptionForm.of(node),
        "top": top_of(node),
        "log": log_for(request, node),
    }
    return render(request, "fleet/node.html", context)


def details_of(node: Node, now: datetime) -> NodeDetails:
    """Return a node's details from its stored report and its database row."""
    reported = read_report(node)
    expires = node.certificate_expires_at
    return NodeDetails(
        reported=reported,
        room=room(reported),
        clock=describe_clock(reported.clock_ahead or 0) if reported.clock_is_wrong else "",
        checked=datetime.fromtimestamp(reported.checked_at, UTC) if reported.checked_at else None,
        rebuild=explain_rebuild(node, reported),
        machines=machines.describe_conflict(node),
        bootstrap=getattr(node, "bootstrap", None),
        keys=tuple(str(key)[:16] for key in node.report.get("signing_keys") or ()),
        expired=expires is not None and expires <= now,
        unanswered=tuple(map(Unanswered._make, node.unanswered[:MOST_UNANSWERED])),
        setup=setup_differences(node, is_rebuilding=hasattr(node, "bootstrap")),
        panel_version=__version__,
    )


@require_safe
def node_points(request: PanelRequest, name: str) -> JsonResponse:
    """Return the charts' data after the Unix time `after`: one point per second, or per `step` ("minute" or "hour")."""
    access.require(request.user, Permission.FLEET)
    node = node_lifecycle.node_by_name(name)
    try:
        after = float(request.GET.get("after", "0"))
    except ValueError:
        after = 0.0
    points = points_of(node.pk, LEVELS.get(request.GET.get("step", "")), after=after)
    return JsonResponse({"now": timezone.now().timestamp(), "points": points})


@require_POST
def node_act(request: PanelRequest, name: str, act: str) -> HttpResponse:
    """Perform a button's action on the node, and add a message about the result or the refusal."""
    if act not in _ACTS:
        raise Http404
    access.require(request.user, Permission.NODES)
    node = node_lifecycle.node_by_name(name)
    verb, message = _ACTS[act]
    with (
        reporting(request, FleetError, text=NOTHING_CHANGED),
        reporting(request, ReplicationError, text=gettext("The agent couldn’t complete the action: {exc}.")),
    ):
        verb(request, node, timezone.now())
        say_done(request, message.format(node.name))
        return redirect("node-list") if act in {"retire", "remove"} else redirect("node-detail", node.slug)
    return redirect("node-detail", node.slug)


def _divergences(request: PanelRequest, node: Node) -> list[Divergence]:
    """Return up to MOST_DIVERGENCES differences of the node in zones that the person is allowed to read.

    The newest come first. For users who are allowed to change nodes, include zones that the panel doesn't have.
    """
    found = Divergence.objects.filter(node=node).order_by("-found_at")
    known = Q(zone_id__in=access.zones_within_reach(request.user, Right.READ).values("pk"))
    if can(request.user, Permission.NODES):
        known |= ~Q(zone_id__in=Zone.objects.values("pk"))
    return list(found.filter(known)[:MOST_DIVERGENCES])


def _approve(request: PanelRequest, node: Node, now: datetime) -> None:
    waiting = node_lifecycle.request_of(node)
    if waiting is None or waiting.csr_sha256 != request.POST.get("fingerprint"):
        raise FleetError(gettext("The request has changed since you compared the fingerprint."))
    node_lifecycle.approve(node=node, now=now, by=request.user)


def _drain(request: PanelRequest, node: Node, now: datetime) -> None:
    form = DrainForm(request.POST)
    if not form.is_valid():
        raise BadNode("reason", gettext("Enter a reason of at most 200 characters and choose a time from the list."))
    node_lifecycle.drain(node=node, now=now, by=request.user, reason=form.cleaned_data["reason"], until=form.until(now))


def _describe(request: PanelRequest, node: Node, now: datetime) -> None:
    form = NodeDescriptionForm(request.POST)
    if not form.is_valid():
        raise BadNode("group", gettext("Group not found."))
    node_lifecycle.describe(node=node, now=now, by=request.user, **form.cleaned_data)


def _retire(request: PanelRequest, node: Node, now: datetime) -> None:
    _require_typed(request, node, gettext("retire this node"))
    node_lifecycle.retire(node=node, now=now, by=request.user)


def _remove(request: PanelRequest, node: Node, now: datetime) -> None:
    _require_typed(request, node, gettext("remove this node"))
    unjoined.remove_node(node=node, now=now, by=request.user)


def _revoke(request: PanelRequest, node: Node, now: datetime) -> None:
    _require_typed(request, node, gettext("revoke the certificate"))
    node_lifecycle.revoke(node=node, now=now, by=request.user)


def _require_typed(request: PanelRequest, node: Node, what: str) -> None:
    if request.POST.get("typed", "").strip() != node.name:
        raise FleetError(gettext("Type {name} to {what}.").format(name=node.name, what=what))


def _rebuild(request: PanelRequest, node: Node, now: datetime) -> None:
    """Rebuild the node. Raise WrongState if the node no longer needs the schema that was shown on the page."""
    required = read_report(node).needed_schema
    if not required or request.POST.get("schema") != str(required):
        raise WrongState(node.name, gettext("no longer needs this schema"))
    resync.rebuild(node=node, schema=required, now=now, by=request.user)


def _accept_machine(request: PanelRequest, node: Node, now: datetime) -> None:
    machines.accept_other(node=node, machine=request.POST.get("machine", ""), now=now, by=request.user)


_Act = Callable[[PanelRequest, Node, datetime], Any]

# The action of each button, and the message after it.
_ACTS: dict[str, tuple[_Act, str]] = {
    "approve": (_approve, gettext_lazy("{} approved. The first zones are being sent to it.")),
    "decline": (
        lambda request, node, now: node_lifecycle.decline(node=node, now=now, by=request.user),
        gettext_lazy("Request from {} declined. The node can send another request with a new code."),
    ),
    "drain": (_drain, gettext_lazy("{} drained. It still serves its current data.")),
    "resume": (
        lambda request, node, now: node_lifecycle.resume(node=node, now=now, by=request.user),
        gettext_lazy("{} resumed. It’s now receiving the changes that it missed."),
    ),
    "describe": (_describe, gettext_lazy("Group, tags and addresses for {} saved.")),
    "check": (
        lambda request, node, now: resync.check_now(node=node, now=now, by=request.user),
        gettext_lazy("Started checking every row on {}. This page shows the progress."),
    ),
    "resync": (
        lambda request, node, now: resync.resync(node=node, now=now, by=request.user),
        gettext_lazy("Full resync of {} started. The node keeps answering queries during the resync."),
    ),
    "rebuild": (_rebuild, gettext_lazy("Rebuild of {} started.")),
    "rotate": (
        lambda request, node, now: rotate.rotate_now(node=node, now=now, by=request.user),
        gettext_lazy("Certificate for {} replaced."),
    ),
    "revoke": (_revoke, gettext_lazy("Certificate for {} revoked. Generate a code to enroll the node again.")),
    "accept-machine": (_accept_machine, gettext_lazy("{} now uses the other machine.")),
    "keep-machine": (
        lambda request, node, now: machines.keep_first(node=node, now=now, by=request.user),
        gettext_lazy("{} keeps its current machine."),
    ),
    "retire": (_retire, gettext_lazy("{} retired.")),
    "remove": (_remove, gettext_lazy("{} removed. Its name can be used again.")),
}
