"""Views of producer catalogs: create, show members and secondaries, add and remove zones, set groups."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, Right
from dnspanel.catalogs import producer
from dnspanel.catalogs.access import producer_for
from dnspanel.catalogs.errors import CatalogRefused
from dnspanel.catalogs.models import Producer
from dnspanel.catalogs.ours import MemberRow, member_rows, rows_of_ours
from dnspanel.secondaries.access import members_of_zone
from dnspanel.secondaries.keyless import keyless_of
from dnspanel.texts import gettext, ngettext
from dnspanel.web.fleet.own_catalog_form import GroupsForm, NewOwnCatalogForm, PutInForm
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden, NameRefused, NamesRefused, QuotaExceeded
from dnspanel.zones.models import Channel, TsigAct, Zone
from dnspanel.zones.rights import access, tsig_permissions

MOST_LISTED = 50


@require_http_methods(["GET", "HEAD", "POST"])
def own_catalog_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new producer catalog. A POST creates the catalog."""
    if not access.may_create_zones(request.user):
        raise Forbidden(Permission.EDIT)
    form = NewOwnCatalogForm(request.POST or None, initial={"form_id": uuid4()}, person=request.user)
    if form.is_valid() and (zone := _create(request, form)) is not None:
        say_done(request, gettext("{name} created. You can now add zones to it."), name=zone.name)
        return redirect("catalog-ours", zone.name)
    return render(request, "fleet/own_catalog_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def own_catalog(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show a producer catalog: its members sorted by name, its groups, and the secondaries that transfer it."""
    return _page(request, producer_for(request.user, zone_name))


@require_POST
def own_catalog_put_in(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Add zones to a producer catalog, also zones that are in another one."""
    catalog = _to_change(request, zone_name)
    form = PutInForm(request.POST, person=request.user, auto_id="put_in_%s")
    if form.is_valid():
        # Forbidden: the person can't change the catalog that a zone would leave.
        with form.catching(CatalogRefused), form.catching(Forbidden, at="zones"):
            count = producer.put_in(
                catalog=catalog.zone, chosen=form.chosen_zones, author=request.user, now=timezone.now()
            )
            said = ngettext("{count} zone added.", "{count} zones added.", count)
            say_done(request, said, count=f"{count:,}")
            return redirect("catalog-ours", catalog.zone.name)
    return _page(request, catalog, put_in=form)


@require_POST
def own_catalog_take_out(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Remove the selected zones from a producer catalog."""
    catalog = _to_change(request, zone_name)
    with reporting(request, CatalogRefused):
        count = producer.take_out(
            catalog=catalog.zone,
            zones=request.POST.getlist("zone")[: MOST_LISTED + 1],
            author=request.user,
            now=timezone.now(),
        )
        said = ngettext("{count} zone removed.", "{count} zones removed.", count)
        say_done(request, said, count=f"{count:,}")
    return redirect("catalog-ours", catalog.zone.name)


@require_POST
def own_catalog_groups(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Set a producer catalog's groups."""
    catalog = _to_change(request, zone_name)
    form = GroupsForm(request.POST)
    if form.is_valid():
        with form.catching(CatalogRefused):
            producer.set_groups(catalog=catalog.zone, group_tags=form.groups, author=request.user, now=timezone.now())
            say_done(request, gettext("Changes saved."))
            return redirect("catalog-ours", catalog.zone.name)
    return _page(request, catalog, groups=form)


def _create(request: PanelRequest, form: NewOwnCatalogForm) -> Zone | None:
    """Create the producer catalog. If it is refused, add the reason to the form and return None."""
    with form.catching(CatalogRefused, NameRefused, NamesRefused, QuotaExceeded):
        return producer.create_catalog(
            name=form.cleaned_data["name"],
            team=form.cleaned_data["team"],
            group_tags=form.groups,
            acting=Acting(request.user, Channel.WEB, timezone.now(), form_id=form.id),
        )
    return None


def _to_change(request: PanelRequest, zone_name: str) -> Producer:
    catalog = producer_for(request.user, zone_name)
    access.require_right(request.user, catalog.zone, Right.SETTINGS)
    return catalog


def _page(
    request: PanelRequest, catalog: Producer, *, put_in: PutInForm | None = None, groups: GroupsForm | None = None
) -> HttpResponse:
    """Return the catalog's page, with a rejected form if there is one."""
    zone = catalog.zone
    search, after = request.GET.get("q", "")[:LONGEST_SEARCH].strip().lower(), request.GET.get("after", "")
    found = member_rows(request.user, catalog, search=search, after=after[:LONGEST_SEARCH], limit=MOST_LISTED + 1)
    [row] = rows_of_ours([catalog])
    context = {
        "row": row,
        "zone": zone,
        "members": found[:MOST_LISTED],
        "next": _next(found, search),
        "search": search,
        "put_in": put_in or PutInForm(person=request.user, auto_id="put_in_%s"),
        "groups": groups or GroupsForm(initial={"group_tags": " ".join(catalog.group_tags)}),
        "keyless": keyless_of(zone),
        "key_names": tsig_permissions.key_names(zone, TsigAct.TRANSFER),
        "secondaries": members_of_zone(request.user, zone).order_by("secondary__name")[:MOST_LISTED],
        "may_change": access.has_right(request.user, zone, Right.SETTINGS),
        "may_delete": access.has_right(request.user, zone, Right.DELETE_ZONE),
    }
    return render(request, "fleet/own_catalog.html", context, status=422 if put_in or groups else 200)


def _next(found: Sequence[MemberRow], search: str) -> str:
    """Return the URL query of the next page, or "" on the last page."""
    if len(found) <= MOST_LISTED:
        return ""
    return f"?{urlencode({'q': search, 'after': found[MOST_LISTED - 1].zone.name})}"
