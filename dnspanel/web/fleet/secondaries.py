"""Views of secondaries: list, create, show, change, notify, rotate the key, delete."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode
from uuid import uuid4

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.secondaries import access, set_up_secondaries
from dnspanel.secondaries.configuration import NO_SECRET, Part, parts_for
from dnspanel.secondaries.errors import SecondaryRefused
from dnspanel.secondaries.models import Member, Secondary, Transport
from dnspanel.secondaries.queries import members_page, secondary_row, secondary_rows, state_of
from dnspanel.secondaries.secondary_catalog import catalog_name
from dnspanel.secondaries.server_certificate import tls_endpoint
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.fleet.secondary_form import SecondaryForm
from dnspanel.web.frame.confirm import ask, before_secret, run_confirmed
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.zones.rights.access import zones_visible_to

MOST_MEMBERS = 50
MOST_SIGNED = 20
# A configuration without catalogs lists at most this many zones.
MOST_NAMED = 200


@require_safe
def secondary_list(request: PanelRequest) -> HttpResponse:
    """List the secondaries, each with the number of its zones that are behind."""
    now = timezone.now()
    rows = [(row, row.word(now)) for row in secondary_rows(request.user)]
    return render(request, "fleet/secondaries.html", {"rows": rows, "may_change": access.may_set_up(request.user)})


@require_http_methods(["GET", "HEAD", "POST"])
def secondary_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new secondary. A POST creates the secondary after a confirmation.

    The page then shows the secondary's configuration and secret once.
    """
    access.require_set_up(request.user)
    form = SecondaryForm(request.POST or None, initial={"form_id": uuid4()})
    if form.is_valid():
        create = partial(
            set_up_secondaries.create_secondary,
            terms=form.terms(),
            by=request.user,
            now=timezone.now(),
            form_id=form.id,
        )
        with form.catching(SecondaryRefused):
            made = run_confirmed(request, _ABOUT_SECRET, create)
            return _page_with_secret(request, made.secondary, made.secret)
    return render(request, "fleet/secondary_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def secondary_detail(request: PanelRequest, secondary_id: int) -> HttpResponse:
    """Show a secondary: its zones sorted by name with their states, withheld zones, and its configuration."""
    secondary = access.secondary_for(request.user, secondary_id)
    form = SecondaryForm.of(set_up_secondaries.terms_of(secondary))
    return render(request, "fleet/secondary.html", {**_context(request, secondary), "form": form})


@require_POST
def secondary_change(request: PanelRequest, secondary_id: int) -> HttpResponse:
    """Change a secondary, or switch it on or off."""
    access.require_set_up(request.user)
    secondary = access.secondary_for(request.user, secondary_id)
    form = SecondaryForm(request.POST)
    if form.is_valid():
        with form.catching(SecondaryRefused):
            set_up_secondaries.change_secondary(
                secondary=secondary, terms=form.terms(), by=request.user, now=timezone.now()
            )
            say_done(request, gettext("Changes saved."))
            return redirect("secondary-detail", secondary.pk)
    return render(request, "fleet/secondary.html", {**_context(request, secondary), "form": form}, status=422)


@require_POST
def secondary_notify(request: PanelRequest, secondary_id: int) -> HttpResponse:
    """Send a NOTIFY for each of the secondary's zones and for its catalog."""
    access.require_set_up(request.user)
    secondary = access.secondary_for(request.user, secondary_id)
    set_up_secondaries.notify_now(secondary=secondary, by=request.user, now=timezone.now())
    say_done(request, gettext("Sending NOTIFY for all of this secondary’s zones."))
    return redirect("secondary-detail", secondary.pk)


@require_POST
def secondary_rotate(request: PanelRequest, secondary_id: int) -> HttpResponse:
    """Replace the TSIG secret after a confirmation, and show it once. The old secret works for another day."""
    access.require_set_up(request.user)
    secondary = access.secondary_for(request.user, secondary_id)
    ask(request, _ABOUT_SECRET)
    secret = set_up_secondaries.rotate_key(secondary=secondary, by=request.user, now=timezone.now())
    return _page_with_secret(request, secondary, secret, rotated=True)


@require_POST
def secondary_delete(request: PanelRequest, secondary_id: int) -> HttpResponse:
    """Delete the secondary. Its server can then no longer transfer zones."""
    access.require_set_up(request.user)
    secondary = access.secondary_for(request.user, secondary_id)
    set_up_secondaries.delete_secondary(secondary=secondary, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} deleted. The server can no longer transfer zones."), name=secondary.name)
    return redirect("secondary-list")


_ABOUT_SECRET = before_secret(
    forged=gettext_lazy("forged NOTIFY messages, and can transfer the secondary’s zones"), back="/secondaries/"
)


def _page_with_secret(
    request: PanelRequest, secondary: Secondary, secret: str, *, rotated: bool = False
) -> HttpResponse:
    context = {
        "secondary": secondary,
        "secret": secret,
        "rotated": rotated,
        "parts": _parts(request, secondary, secret=secret),
    }
    page = render(request, "fleet/secondary_made.html", context)
    return show_once(request, page, after=reverse("secondary-detail", args=[secondary.pk]))


def _context(request: PanelRequest, secondary: Secondary) -> dict[str, object]:
    now = timezone.now()
    search, after = request.GET.get("q", "")[:LONGEST_SEARCH].strip().lower(), request.GET.get("after", "")
    behind = request.GET.get("behind") == "yes"
    found = members_page(
        request.user, secondary, search=search, behind=behind, after=after[:LONGEST_SEARCH], limit=MOST_MEMBERS + 1
    )
    row = secondary_row(secondary)
    return {
        "secondary": secondary,
        "row": row,
        "word": row.word(now),
        "members": [(member, state_of(secondary, member, now)) for member in found[:MOST_MEMBERS]],
        "next": _next(found, search, behind=behind),
        "search": search,
        "only_behind": behind,
        "signed": _withheld_names(request, secondary),
        "may_change": access.may_set_up(request.user),
        "catalog": catalog_name(secondary),
        "parts": _parts(request, secondary),
        "fingerprints": sorted(fingerprints_of(secondary.certificate)),
    }


def _parts(request: PanelRequest, secondary: Secondary, *, secret: str = NO_SECRET) -> list[Part]:
    tls = tls_endpoint(now=timezone.now()) if secondary.transport != Transport.ANY else None
    return parts_for(
        secondary,
        gateways=settings.GATEWAY_ADDRESSES,
        secret=secret,
        zones=[member.zone_name for member in members_page(request.user, secondary, limit=MOST_NAMED)],
        tls=tls,
    )


def _next(found: Sequence[Member], search: str, *, behind: bool) -> str:
    """Return the URL query of the next page, or "" on the last page."""
    if len(found) <= MOST_MEMBERS:
        return ""
    more = {"q": search, "behind": "yes" if behind else "", "after": found[MOST_MEMBERS - 1].zone_name}
    return f"?{urlencode(more)}"


def _withheld_names(request: PanelRequest, secondary: Secondary) -> Sequence[str]:
    """Return the names of zones that are withheld, because nodes sign them and no signed transfer is possible.

    Only zones that the person is allowed to see are included, at most MOST_SIGNED + 1.
    """
    found = access.withheld_zones_of(secondary).filter(pk__in=zones_visible_to(request.user)).order_by("name")
    return list(found.values_list("name", flat=True)[: MOST_SIGNED + 1])
