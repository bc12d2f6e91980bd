"""View that creates zones with a copy of an existing zone's records."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.web.frame.new_zone_forms import CloneZoneForm
from dnspanel.web.zones.pages import created_or_refused, go_to_new_zones, refuse_names
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import CannotClone, RightMissing
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import clone
from dnspanel.zones.publishing.new_names import refusals_of
from dnspanel.zones.rights import access
from replication.dns import names, rdata
from replication.errors import ReplicationError

EXAMPLES = 12  # RRsets of the preview


@require_http_methods(["GET", "HEAD", "POST"])
def zone_clone(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the form that copies a zone. htmx gets a preview of the first new zone. A POST creates the zones."""
    source = access.zone_for_reading(request.user, zone_name)
    if not access.may_create_zones(request.user):
        raise access.Forbidden(Permission.EDIT)
    if request.method != "POST":
        if request.htmx:
            form = CloneZoneForm(request.GET, author=request.user)
            form.is_valid()
            return render(request, "zones/_clone_preview.html", _preview(request, source, form.readable_names))
        initial = {"team": source.team_id, "tags": True}
        return _page(request, source, CloneZoneForm(initial=initial, author=request.user), 200)
    form = CloneZoneForm(request.POST, author=request.user)

    def create() -> Publication:
        return clone.clone_zone(
            source=source,
            zone_names=form.cleaned_data["names"],
            acting=Acting(request.user, Channel.WEB, timezone.now(), form.cleaned_data["reason"], form.id),
            team=form.cleaned_data.get("team"),
            with_tags=form.cleaned_data["tags"],
        )

    publication = None
    if form.is_valid():
        try:
            publication = created_or_refused(form, create)
        except (CannotClone, ReplicationError) as exc:
            form.refuse("names", str(exc))
        except RightMissing as exc:
            form.refuse("tags" if form.cleaned_data["tags"] else "names", str(exc))
    if publication is None:
        refuse_names(form, request)
        return _page(request, source, form, 422)
    return go_to_new_zones(request, form, publication)


def _page(request: PanelRequest, source: Zone, form: CloneZoneForm, status: int) -> HttpResponse:
    preview = _preview(request, source, form.readable_names)
    if form.is_bound:
        del preview["refusals"]  # the form shows them at the field
    context = {"form": form, "near_quotas": near_quotas(request.user, Kind.ZONES), **preview}
    return render(request, "zones/clone.html", context, status=status)


def _preview(request: PanelRequest, source: Zone, zone_names: Sequence[str]) -> dict[str, object]:
    """Return the first records of the first new zone (of the source if the user typed no name), and rejected names."""
    context: dict[str, object] = {"zone": source, "new_name": zone_names[0] if zone_names else ""}
    refusals = refusals_of(tuple(zone_names), request.user).values()
    context["refusals"] = [str(refusal) for refusal in refusals][:EXAMPLES]
    try:
        content = clone.content_for_clones(source=source, author=request.user, count=max(1, len(zone_names)))
        name = zone_names[0] if zone_names else source.name
        examples = []
        for rrset, _ in zip(content.rrsets_of_copy(name, timezone.now()), range(EXAMPLES), strict=False):
            owner = names.owner_text(rrset.name, name)
            examples += [f"{owner} {rrset.ttl} {rdata.type_to_text(rrset.type)} {text}" for text in rrset.rdata]
    except (CannotClone, RightMissing, ReplicationError) as exc:
        return context | {"problem": str(exc)}
    left = [(rdata.type_to_text(type_), count) for type_, count in sorted(content.left_out.items())]
    return context | {"examples": examples[:EXAMPLES], "count": len(content.rrsets), "left_out": left}
