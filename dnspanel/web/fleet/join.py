"""Views to enroll a node: its description, the join command, the fingerprint to compare, and its first snapshot."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet.errors import BadNode, NameTaken, WrongState
from dnspanel.fleet.models import Bootstrap, Node, NodeEvent, NodeState
from dnspanel.fleet.nodes import node_lifecycle, unjoined
from dnspanel.texts import gettext
from dnspanel.web.fleet.forms import SCHEMA_LABELS, NewNodeForm, NodeDescriptionForm
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.zones.rights import access


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of enrolling a node: requested, approved, contacted, filled from a snapshot, verified."""

    requested: bool
    approved: bool
    contacted: bool
    bootstrap: Bootstrap | None
    verified: bool

    @property
    def classes(self) -> dict[str, str]:
        """The CSS class of each step: done, current, or empty."""
        found, is_next = {}, True
        for name in ("requested", "approved", "contacted", "verified"):
            is_done = getattr(self, name)
            found[name] = "is-done" if is_done else "is-now" if is_next else ""
            is_next = is_done
        return found

    @property
    def percent(self) -> int:
        """The percentage of the snapshot that was sent."""
        return (
            100 * self.bootstrap.chunks_sent // self.bootstrap.chunks if self.bootstrap and self.bootstrap.chunks else 0
        )


@require_http_methods(["GET", "HEAD", "POST"])
def node_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new node. A POST creates the node and shows the command with its one-time code once."""
    access.require(request.user, Permission.NODES)
    form = NewNodeForm(request.POST or None)
    if form.is_valid():
        with form.catching(BadNode), form.catching(NameTaken, at="name"):
            fields = dict(form.cleaned_data)
            is_front = fields.pop("is_front")
            described = node_lifecycle.NodeDescription(**fields)
            node = node_lifecycle.create_node(described, now=timezone.now(), by=request.user, is_front=is_front)
            return _with_code(request, node)
    return render(request, "fleet/new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def node_change(request: PanelRequest, name: str) -> HttpResponse:
    """Show the form for a node that hasn't joined yet. A POST changes the node and invalidates its one-time code."""
    access.require(request.user, Permission.NODES)
    node = node_lifecycle.node_by_name(name)
    form = NewNodeForm(request.POST or None, initial=_initial_values(node))
    del form.fields["is_front"]
    if form.is_valid():
        try:
            with form.catching(BadNode), form.catching(NameTaken, at="name"):
                described = node_lifecycle.NodeDescription(**form.cleaned_data)
                changed = unjoined.change_node(node=node, described=described, now=timezone.now(), by=request.user)
                saved = gettext("{name} saved. Earlier codes are no longer valid, so generate a new one.")
                say_done(request, saved, name=changed.name)
                return redirect("node-enrolment", changed.name)
        except WrongState as exc:
            messages.error(request, NOTHING_CHANGED.format(exc=exc))
            return redirect("node-detail", node.name)
    if unjoined.has_joined(node):
        return redirect("node-detail", node.name)
    return render(request, "fleet/change.html", {"form": form, "node": node}, status=422 if form.is_bound else 200)


def _initial_values(node: Node) -> dict[str, Any]:
    typed = {name: getattr(node, name) for name in NewNodeForm.base_fields}
    return typed | {"group": node.group_id, "tags": " ".join(node.tags)}


@require_http_methods(["GET", "HEAD", "POST"])
def node_enrollment(request: PanelRequest, name: str) -> HttpResponse:
    """Show the progress of a node's enrollment. A POST creates a new one-time code."""
    access.require(request.user, Permission.FLEET)
    node = node_lifecycle.node_by_name(name)
    if request.method != "POST":
        return _enrollment(request, node)
    access.require(request.user, Permission.NODES)
    with reporting(request, WrongState):
        return _with_code(request, node)
    return redirect("node-detail", node.name)


def _with_code(request: PanelRequest, node: Node) -> HttpResponse:
    """Create a one-time code and show the join command once. Raise WrongState if the node has already joined."""
    page = _enrollment(request, node, code=node_lifecycle.make_code(node=node, now=timezone.now(), by=request.user))
    return show_once(request, page, after=reverse("node-enrolment", args=[node.name]))


def steps_of(node: Node, *, requested: bool) -> Steps:
    """Return the steps of the node's enrollment. `requested` is True if a certificate request awaits approval.

    While the node awaits approval, even after its certificate was revoked, no step after `requested` is done. Contact
    and acks from before a revocation count again as soon as the new request is approved.
    """
    approved = node.state != NodeState.AWAITING_APPROVAL
    return Steps(
        requested=requested or approved,
        approved=approved,
        contacted=approved and node.contact_at is not None,
        bootstrap=Bootstrap.objects.filter(node=node).first() if approved else None,
        verified=approved and node.acked_at is not None,
    )


def _join_command(node: Node, code: str) -> str:
    """Return the command to run on the server as root, which fetches the addresses, ports and role from the panel."""
    program = "dnspanel-front" if node.is_front else "dnspanel-agent"
    return f"{program} join --panel {settings.PANEL_URL} --code {code}"


def _enroll_command(node: Node, code: str) -> str:
    """Return the command that only sets up the server's identity (key and certificate)."""
    program = "front" if node.is_front else "agent"
    directory = f"/etc/dnspanel-{program}"
    return f"python -m replication.{program} enroll --panel {settings.PANEL_URL} --code {code} --dir {directory}"


def _enrollment(request: PanelRequest, node: Node, code: str = "") -> HttpResponse:
    waiting = node_lifecycle.request_of(node)
    context: dict[str, Any] = {
        "node": node,
        "code": code,
        "join_command": _join_command(node, code),
        "enroll_command": _enroll_command(node, code),
        "fingerprint": waiting.csr_sha256 if waiting else "",
        "awaiting": node.state == NodeState.AWAITING_APPROVAL,
        "steps": steps_of(node, requested=waiting is not None),
        "release": SCHEMA_LABELS[node.schema],
        "minutes": int(node_lifecycle.CODE_LIFETIME.total_seconds() // 60),
        "revoked": NodeEvent.objects.filter(node=node, kind="certificate").order_by("-id").first(),
        "may_change": can(request.user, Permission.NODES),
        "has_joined": unjoined.has_joined(node),
        "description_form": NodeDescriptionForm.of(node),
    }
    return render(request, "fleet/_enrolment_steps.html" if is_fragment(request) else "fleet/enrolment.html", context)
