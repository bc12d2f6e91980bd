"""Views for a zone's primaries: set or query them, make this panel the primary, return to the former primaries."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.actors.actors import Right
from dnspanel.primaries import set_up_primaries
from dnspanel.primaries.errors import NotTransferred, PrimariesRefused, TakeOverRefused
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.primary_tls import own_authority
from dnspanel.texts import gettext
from dnspanel.transfer import allowed_servers
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.web.frame.primaries_form import PastRulesForm, PrimariesForm, initial_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import HookRefused, KeptBack, Locked
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.rights import access


@require_http_methods(["GET", "HEAD", "POST"])
def zone_primaries(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the primaries that the zone is transferred from. A POST changes the primaries."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    row = TransferredZone.objects.filter(pk=zone.pk).first()
    form = PrimariesForm(request.POST or None, initial=initial_of(row) if row else None)
    if row is not None:
        form.keep_secret_of(row)
    if form.is_valid():
        set_now = partial(set_up_primaries.set_primaries, zone=zone, terms=form.terms, **_acting(request))
        with form.catching(PrimariesRefused, KeptBack, Locked, HookRefused):
            run_confirmed(request, _about_setting(zone) if not zone.transferred_from else None, set_now)
            say_done(
                request,
                gettext("{name} is now transferred from {transferred_from}."),
                name=zone.name,
                transferred_from=zone.transferred_from,
            )
            return redirect("zone-primaries", zone.name)
    context: dict[str, object] = {
        "form": form,
        "row": row,
        "past": _past_form(request, zone),
        "may_set_primaries": allowed_servers.may_read_servers(request.user),
        "authority": own_authority(row, now=timezone.now()) if row else "",
    }
    status = 422 if form.is_bound else 200
    return render_zone(request, zone, "settings", "zone_tabs/primaries.html", context, status=status)


@require_POST
def zone_primaries_ask(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Query the zone's primaries now. If `all` is "yes", transfer the whole zone."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    wants_all = request.POST.get("all") == "yes"

    def ask_now() -> None:
        set_up_primaries.ask_now(zone=zone, author=request.user, now=timezone.now(), wants_all=wants_all)

    return _run_act(request, zone, ask_now, gettext("Checking the primaries for {name}.").format(name=zone.name))


@require_POST
def zone_take_over(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Make this panel the zone's primary after the user confirms."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    if zone.transferred_from:
        ask(request, _about_taking_over(zone))

    def take_over() -> None:
        set_up_primaries.take_over(zone=zone, **_acting(request))

    return _run_act(
        request, zone, take_over, gettext("This panel is now the primary of {name}.").format(name=zone.name)
    )


@require_POST
def zone_give_back(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Transfer the zone from its former primaries again, after the user confirms."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    if not zone.transferred_from:
        ask(request, _about_giving_back(zone))

    def give_back() -> None:
        set_up_primaries.give_back(zone=zone, **_acting(request))

    return _run_act(
        request,
        zone,
        give_back,
        gettext("{name} is a secondary zone again. The first transfer has started.").format(name=zone.name),
    )


def _run_act(request: PanelRequest, zone: Zone, act: Callable[[], object], said: str) -> HttpResponse:
    with (
        reporting(request, PrimariesRefused, KeptBack, Locked, HookRefused),
        reporting(request, NotTransferred, TakeOverRefused, level=messages.WARNING),
    ):
        act()
        say_done(request, said)
    return redirect("zone-primaries", zone.name)


def _acting(request: PanelRequest) -> dict[str, Any]:
    """Return the keyword arguments for a change: the actor with a reason, and whether to bypass the zone's rules."""
    form = PastRulesForm(request.POST)
    said = form.verb_arguments if form.is_valid() else {}
    acting = Acting(request.user, Channel.WEB, timezone.now(), str(said.get("reason", "")))
    return {"acting": acting, "past_rules": said.get("past_rules", False)}


def _past_form(request: PanelRequest, zone: Zone) -> PastRulesForm | None:
    """Return the form to bypass rules. Return None if the zone has no rules or the user isn't allowed to govern it."""
    if not access.has_right(request.user, zone, Right.GOVERN) or not publish_guards.rules_about([zone]):
        return None
    return PastRulesForm(request.POST or None)


def _about_setting(zone: Zone) -> Question:
    return _question(
        zone,
        gettext("Transfer {name} from other primaries").format(name=zone.name),
        gettext("The first transfer will replace all of the zone’s records in this panel."),
        gettext("The zone will become read-only in this panel."),
        gettext("Your draft will lose all changes to this zone. Other people’s drafts won’t change."),
    )


def _about_taking_over(zone: Zone) -> Question:
    return _question(
        zone,
        gettext("Change {name} to a primary zone").format(name=zone.name),
        gettext("The zone will become editable in this panel. Later changes on the current primaries will be ignored."),
        gettext("You can transfer the zone from {transferred_from} again later.").format(
            transferred_from=zone.transferred_from
        ),
    )


def _about_giving_back(zone: Zone) -> Question:
    return _question(
        zone,
        gettext("Change {name} to a secondary zone").format(name=zone.name),
        gettext("The next transfer will replace all changes made in this panel."),
        gettext("Your draft will lose all changes to this zone. Other people’s drafts won’t change."),
    )


def _question(zone: Zone, title: str, *effects: str) -> Question:
    return Question(title, *effects, back=reverse("zone-primaries", args=[zone.name]))
