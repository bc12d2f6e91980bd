"""Views of one node: a tab for its state, traffic, position and log, and actions on the node."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, Right, can
from dnspanel.fleet import resync, telemetry
from dnspanel.fleet.conditions.condition_inputs import DiskMarks, node_inputs
from dnspanel.fleet.conditions.nodes import node_conditions
from dnspanel.fleet.errors import BadNode, FleetError, WrongState
from dnspanel.fleet.models import Divergence, Node, NodeEvent, NodeState
from dnspanel.fleet.nodes import fronts, machines, node_lifecycle, rotate, unjoined
from dnspanel.fleet.nodes.agent_upgrades import upgrade_state
from dnspanel.fleet.nodes.reported import explain_rebuild, read_report
from dnspanel.fleet.reads.queries import NodeStatus, head, node_status, unproven_of
from dnspanel.fleet.rollup import LEVELS, points_of
from dnspanel.monitoring.doctor.findings import Finding, finding_of
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.fleet.forms import DrainForm, NodeDescriptionForm
from dnspanel.web.fleet.minute_squares import MEASURES, squares_of
from dnspanel.web.fleet.tiles import tile_of
from dnspanel.web.fleet.top import log_for, top_of
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication import __version__
from replication.errors import ReplicationError
from replication.wire.position import Position
from replication.wire.protocol import Unanswered

# The URL name of each tab, its title, and the parts that change while it is open.
TABS = {
    "node-detail": (gettext_lazy("Overview"), ("fleet/_node_now.html", "fleet/_node_server.html")),
    "node-traffic": (gettext_lazy("Traffic"), ("fleet/_top.html",)),
    "node-sync": (gettext_lazy("Sync"), ("fleet/_node_sync.html",)),
    "node-log": (gettext_lazy("Log"), ("fleet/_node_log.html",)),
}
# The forms of rare actions: template and title.
_FORMS = {
    "describe": ("fleet/_node_group.html", gettext_lazy("Edit group, tags and addresses")),
    "resync": ("fleet/_node_resync.html", gettext_lazy("Resync from scratch")),
    "certificate": ("fleet/_node_certificate.html", gettext_lazy("Replace or revoke certificate")),
    "retire": ("fleet/_node_retire.html", gettext_lazy("Retire this node")),
    "remove": ("fleet/_node_remove.html", gettext_lazy("Remove node")),
}
MOST_EVENTS = 40
MOST_DIVERGENCES = 20
MOST_UNANSWERED = 20


@require_safe
def node_detail(request: PanelRequest, name: str, tab: str = "node-detail") -> HttpResponse:
    """Show a tab of one node, or redirect to its enrolment page while it awaits approval.

    Every two seconds, htmx fetches only the changing parts. The charts fetch `node_points`. `acts` in the URL is the
    state whose actions the page shows, so that they are replaced only if the state changes.
    """
    access.require(request.user, Permission.FLEET)
    now = timezone.now()
    status = node_status(name=name, now=now)
    node = status.node
    if node.state == NodeState.AWAITING_APPROVAL:
        return redirect("node-enrolment", name)
    live, newest = telemetry.live_now([node.pk]), head()
    context: dict[str, object] = {
        "tile": tile_of(status, live.get(node.pk), newest),
        "status": status,
        "node": node,
        "health": status.health,
        **_context_of_node(node, now),
        "findings": [] if node.state == NodeState.RETIRED else findings_of(status, newest, now),
        "may_change": can(request.user, Permission.NODES),
        "drained": node.state == NodeState.DRAINED,
        "active": node.state == NodeState.ACTIVE,
        "retired": node.state == NodeState.RETIRED,
        "predecessors": node_lifecycle.predecessors_of(node),
        "tab": tab,
        "tabs": TABS,
        "parts": () if node.is_front and tab == "node-traffic" else TABS[tab][1],
        **_context_of_tab(request, status, tab, now),
    }
    if is_fragment(request):
        context["acts_changed"] = request.GET.get("acts") != node.state
    return render(request, "fleet/_node_live.html" if is_fragment(request) else "fleet/node.html", context)


def _context_of_node(node: Node, now: datetime) -> dict[str, object]:
    """Return what the page shows of the node's report and row, in addition to its tile."""
    reported = read_report(node)
    return {
        "reported": reported,
        "checked": datetime.fromtimestamp(reported.checked_at, UTC) if reported.checked_at else None,
        "other_powerdns": reported.installed if reported.installed != reported.powerdns else "",
        "rebuild": explain_rebuild(node, reported),
        "machines": machines.describe_conflict(node),  # why pushes stopped, if two machines use this identity
        "bootstrap": getattr(node, "bootstrap", None),
        "expired": node.certificate_expires_at is not None and node.certificate_expires_at <= now,
        "unanswered": tuple(map(Unanswered._make, node.unanswered[:MOST_UNANSWERED])),
        "panel_version": __version__,
        "upgrade": upgrade_state(node),
    }


def _context_of_tab(request: PanelRequest, status: NodeStatus, tab: str, now: datetime) -> dict[str, object]:
    node = status.node
    context: dict[str, object] = {"drain_form": DrainForm()}
    if tab == "node-detail":
        context["hour"] = [squares_of([status], key, now) for key in MEASURES]
        if node.is_front:
            context |= {"front": fronts.report_of(node), "has_backends": bool(fronts.terms_of(node).backends)}
    elif tab == "node-traffic":
        context["top"] = top_of(node)
    elif tab == "node-sync":
        zones = access.zones_within_reach(request.user, Right.READ)
        context |= {"divergences": _divergences(request, node), "unproven": unproven_of(node, zones)}
    else:
        events = NodeEvent.objects.filter(node=node).select_related("by").order_by("-id")
        context |= {"events": list(events[:MOST_EVENTS]), "log": log_for(request, node)}
    return context


def findings_of(status: NodeStatus, newest: Position, now: datetime) -> list[Finding]:
    """Return the node's problems with their fixes. The page's head already has the message about its health."""
    [inputs] = node_inputs([status], newest, DiskMarks(), now)
    found = node_conditions(inputs, now, (), contact_is_known=True)
    return [
        replace(finding_of(each), message="" if each.key.startswith("node.standing:") else each.message)
        for each in found
    ]


@require_safe
def node_ask(request: PanelRequest, name: str, act: str) -> HttpResponse:
    """Show the form of a rare action on the node."""
    access.require(request.user, Permission.NODES)
    if act not in _FORMS:
        raise Http404
    node = node_lifecycle.node_by_name(name)
    template, title = _FORMS[act]
    context = {"node": node, "template": template, "title": title, "description_form": NodeDescriptionForm.of(node)}
    return render(request, "fleet/act.html", context)


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
    if act not in ACTS:
        raise Http404
    access.require(request.user, Permission.NODES)
    node = node_lifecycle.node_by_name(name)
    verb, message = ACTS[act]
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
ACTS: dict[str, tuple[_Act, str]] = {
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
