"""View that deletes a zone. The user types the zone's name, and sees which records point to the zone."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import gettext
from dnspanel.web.frame.forms import DeleteZoneForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.read_once import statuses_of
from dnspanel.web.frame.rows import row_address
from dnspanel.web.frame.sync import sync_of_zone
from dnspanel.web.zones.pages import MOST_TRACES
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import MassDeletion, QuotaExceeded, RightMissing, Unknown
from dnspanel.zones.models import TRASH_DAYS, Channel, Publication, Zone
from dnspanel.zones.plan import across_zones
from dnspanel.zones.plan.deletion_guard import refuse_mass_deletion
from dnspanel.zones.publishing import delegation, edit
from dnspanel.zones.rights import access
from replication.dns.rrset import RRset


def _undelegate(request: PanelRequest, parent: Zone, traces: Sequence[RRset]) -> None:
    """Add the removal of a deleted zone's delegation to the draft, and add a message about the result."""
    try:
        count = delegation.draft_removal(parent=parent, rrsets=traces, author=request.user, now=timezone.now())
    except (RightMissing, QuotaExceeded, Unknown) as exc:
        messages.error(
            request, gettext("The delegation in {name} was not removed: {exc}").format(name=parent.name, exc=exc)
        )
        return
    if count:
        say_done(
            request,
            gettext("The removal of the delegation in {name} was added to your draft. Review and publish it."),
            name=parent.name,
        )


@require_http_methods(["GET", "HEAD", "POST"])
def zone_delete(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show a form in which the user types the zone's name to confirm. A POST moves the zone to the trash.

    If `undelegate` is "yes", the POST also drafts the removal of the zone's delegation.
    """
    zone = access.zone_for(request.user, zone_name, Right.DELETE_ZONE)
    form = DeleteZoneForm(request.POST or None, zone_name=zone.name)
    traces = delegation.traces_of(request.user, zone.name)
    publication = _delete(form, zone, request) if form.is_valid() else None
    if not form.is_bound:
        _expect_hold(form, zone, request)
    if publication is None:
        nodes = sync_of_zone(zone, statuses_of(request))
        context = {
            "zone": zone,
            "form": form,
            "nodes": nodes,
            "days": TRASH_DAYS,
            "parent": traces[0] if traces else None,
            "traces": traces[1][:MOST_TRACES] if traces else [],
            "more_traces": max(0, len(traces[1]) - MOST_TRACES) if traces else 0,
            **_pointed_at(request, zone, traces[1] if traces else ()),
            "undelegate": not form.is_bound or request.POST.get("undelegate") == "yes",
        }
        return render(request, "zones/delete.html", context, status=422 if form.is_bound else 200)
    say_done(
        request, gettext("{name} moved to the trash for {trash_days} days."), name=zone.name, trash_days=TRASH_DAYS
    )
    if traces and request.POST.get("undelegate") == "yes":
        _undelegate(request, *traces)
    return redirect("publication", publication.sequence)


def _pointed_at(request: PanelRequest, zone: Zone, traces: Sequence[RRset]) -> dict[str, object]:
    """Return the template context with other zones' records that point into this zone, except its delegation."""
    found, has_more = across_zones.pointers_into(zone, request.user)
    found = [pointer for pointer in found if pointer.rrset not in traces or pointer.rrset is None]
    named = [
        (row_address(each.zone.name, each.rrset.name, each.rrset.type), each)
        for each in found
        if each.zone is not None and each.rrset is not None
    ][:MOST_TRACES]
    return {"pointers": named, "more_pointers": len(found) - len(named), "is_pointed_at_more": has_more}


def _expect_hold(form: DeleteZoneForm, zone: Zone, request: PanelRequest) -> None:
    """Make the form require the number of zones if the guard against mass deletions blocks this deletion."""
    try:
        refuse_mass_deletion(author=request.user, count=1, now=timezone.now(), names=[zone.name])
    except MassDeletion as exc:
        form.mass_deletion = exc


def _delete(form: DeleteZoneForm, zone: Zone, request: PanelRequest) -> Publication | None:
    """Delete the zone. Return None if the user must first type the number of zones."""

    def delete(*, confirmed: bool) -> Publication:
        return edit.delete_zone(
            zone=zone,
            acting=Acting(request.user, Channel.WEB, timezone.now(), form.cleaned_data["reason"], form.id),
            confirmed=confirmed,
        )

    try:
        return delete(confirmed=False)
    except MassDeletion as exc:
        return delete(confirmed=True) if form.hold(exc) else None
