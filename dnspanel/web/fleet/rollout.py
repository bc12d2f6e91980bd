"""Views of delivery: its state in each group, actions to stop or pin delivery, and actions to change groups."""

from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet.errors import FleetError
from dnspanel.fleet.models import NodeGroup
from dnspanel.fleet.reads.rollout_status import rollout_status
from dnspanel.fleet.rollout import deliver_groups, rollout_groups
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.zones.rights import access

_MOST_DIGITS = 18


@require_safe
def delivery(request: PanelRequest) -> HttpResponse:
    """Show the newest publication released to each group, and why later publications aren't released yet."""
    access.require(request.user, Permission.FLEET)
    context = {
        "view": rollout_status(now=timezone.now()),
        "may_change": can(request.user, Permission.NODES),
        "fleet_resolver": settings.ALIAS_RESOLVER,
    }
    return render(request, "fleet/_rollout.html" if is_fragment(request) else "fleet/rollout.html", context)


@require_POST
def delivery_act(request: PanelRequest, act: str) -> HttpResponse:
    """Stop, resume, pin or unpin delivery to the fleet."""
    access.require(request.user, Permission.NODES)
    by, now, reason = request.user, timezone.now(), request.POST.get("reason", "")
    acts: dict[str, tuple[Callable[[], None], str]] = {
        "stop": (
            lambda: deliver_groups.stop(reason=reason, by=by, now=now),
            gettext("Delivery stopped. Nodes keep serving their current data."),
        ),
        "resume": (lambda: deliver_groups.resume(by=by, now=now), gettext("Delivery resumed.")),
        "pin": (
            lambda: deliver_groups.pin(sequence=_number(request, "sequence"), reason=reason, by=by, now=now),
            gettext("Fleet pinned. New publications are saved, but not delivered until you unpin it."),
        ),
        "unpin": (
            lambda: deliver_groups.unpin(by=by, now=now),
            gettext("Fleet unpinned. Nodes will now receive the newest publications."),
        ),
    }
    if act not in acts:
        raise Http404
    verb, message = acts[act]
    return _run_verb(request, verb, message)


@require_POST
def group_new(request: PanelRequest) -> HttpResponse:
    """Create a group at the end of the order. The first group has all nodes except the canary. Others are empty."""
    access.require(request.user, Permission.NODES)
    name = request.POST.get("name", "").strip().lower()

    def create() -> None:
        seconds = _number(request, "verify_seconds")
        rollout_groups.create_group(name=name, verify_seconds=seconds, by=request.user, now=timezone.now())

    return _run_verb(
        request, create, gettext("Group {name} created. Add nodes to it on their pages.").format(name=name)
    )


@require_POST
def group_act(request: PanelRequest, group_id: int, act: str) -> HttpResponse:
    """Change a group's name, verification time, resolver or position, skip the group, or delete it."""
    access.require(request.user, Permission.NODES)
    group = get_object_or_404(NodeGroup, pk=group_id)
    by, now = request.user, timezone.now()

    def change() -> None:
        name, seconds = request.POST.get("name", "").strip().lower(), _number(request, "verify_seconds")
        if name != group.name:
            rollout_groups.rename_group(group=group, name=name, by=by, now=now)
        if seconds != group.verify_seconds:
            rollout_groups.set_verify_seconds(group=group, seconds=seconds, by=by, now=now)
        resolver = request.POST.get("resolver", group.resolver).strip().lower()
        if resolver != group.resolver:
            rollout_groups.set_resolver(group=group, resolver=resolver, by=by, now=now)

    acts: dict[str, tuple[Callable[[], None], str]] = {
        "change": (change, gettext("Group saved.")),
        "earlier": (
            lambda: rollout_groups.move_group(group=group, earlier=True, by=by, now=now),
            gettext("{name} moved earlier.").format(name=group.name),
        ),
        "later": (
            lambda: rollout_groups.move_group(group=group, earlier=False, by=by, now=now),
            gettext("{name} moved later.").format(name=group.name),
        ),
        "skip": (
            lambda: deliver_groups.skip(group=group, reason=request.POST.get("reason", ""), by=by, now=now),
            gettext("Delivery will skip {name} until one of its nodes is live again.").format(name=group.name),
        ),
        "delete": (
            lambda: rollout_groups.delete_group(group=group, by=by, now=now),
            gettext("Group {name} deleted.").format(name=group.name),
        ),
    }
    if act not in acts:
        raise Http404
    verb, message = acts[act]
    return _run_verb(request, verb, message)


def _run_verb(request: PanelRequest, verb: Callable[[], None], message: str) -> HttpResponse:
    """Call `verb`, add a message about its success or refusal, and redirect to the delivery page."""
    with reporting(request, FleetError, text=NOTHING_CHANGED):
        verb()
        say_done(request, message)
    return redirect("node-delivery")


def _number(request: PanelRequest, field: str) -> int:
    """Return the typed number, or -1 for anything else. The called functions reject -1 with their own messages."""
    text = request.POST.get(field, "").strip().replace(",", "")
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1
