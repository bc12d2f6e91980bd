"""The dashboard: setup steps, things that need attention, fleet numbers, publications, and the user's zones."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.accounts.models import User
from dnspanel.accounts.people.list_looks import ListName, look_of
from dnspanel.accounts.sign_in.second_factor import second_factors_of
from dnspanel.fleet.reads.queries import head, watched_statuses, without_ring0
from dnspanel.texts import gettext
from dnspanel.web.dashboard.attention import attention_groups
from dnspanel.web.dashboard.fleet_now import fleet_now
from dnspanel.web.editor.history.publications import display_publications
from dnspanel.web.fleet.minute_squares import squares_of
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.frame.read_once import draft_counts_of, statuses_of
from dnspanel.zones.lists.zone_marks import marked_zones
from dnspanel.zones.log.publications import publication_page
from dnspanel.zones.rights import access

LAST_PUBLICATIONS = 10
MOST_DRAFTED = 6  # listed zones of the person's draft


@dataclass(frozen=True, slots=True)
class Step:
    """A step in setting up a new panel, with links (icon, text and URL) to the pages where it is done."""

    title: str
    text: str
    is_done: bool
    links: tuple[tuple[str, str, str], ...]


@require_safe
def dashboard(request: PanelRequest) -> HttpResponse:
    """Show the dashboard. Every two seconds, htmx fetches only the fleet card."""
    now = timezone.now()
    sees_fleet = can(request.user, Permission.FLEET)
    if is_fragment(request):
        access.require(request.user, Permission.FLEET)
        return render(request, "dashboard/_fleet.html", {"fleet": fleet_now(watched_statuses(now=now), head())})
    statuses = statuses_of(request)
    counts = draft_counts_of(request) if can(request.user, Permission.EDIT) else ()
    page = publication_page(person=request.user, limit=LAST_PUBLICATIONS)
    has_zones = access.zones_visible_to(request.user).exists()
    context = {
        "groups": attention_groups(request.user, statuses, counts, now),
        "has_zones": has_zones,
        "fleet": fleet_now(statuses, head()) if sees_fleet and statuses else None,
        "squares": squares_of(statuses, "", now) if sees_fleet and statuses else None,
        "publications": display_publications(page.rows, statuses),
        "drafted": counts[:MOST_DRAFTED],
        "more_drafted": max(0, len(counts) - MOST_DRAFTED),
        "marks": marked_zones(request.user),
        "steps": _steps(request.user, has_zones=has_zones, has_nodes=bool(without_ring0(statuses))),
    }
    return render(request, "dashboard/dashboard.html", context)


def _steps(person: User, *, has_zones: bool, has_nodes: bool) -> list[Step]:
    """Return the setup steps that the person can do, or [] if all are done or the person hid the steps."""
    if "steps" in look_of(person, ListName.HOME).hidden:
        return []
    steps = []
    if access.may_create_zones(person):
        text = gettext("Create a zone, or import zones from files, a name server or another PowerDNS.")
        new_zone = ("plus", gettext("New zone"), reverse("zone-new"))
        new_import = ("import", gettext("Import…"), reverse("import-new"))
        steps.append(Step(gettext("Create or import zones"), text, has_zones, (new_zone, new_import)))
    if can(person, Permission.NODES):
        text = gettext("A node is a server with PowerDNS and the panel’s agent. You add a node with one command.")
        link = ("plus", gettext("Add node"), reverse("node-new"))
        steps.append(Step(gettext("Add node"), text, has_nodes, (link,)))
    text = gettext("A second factor protects your account, even if someone knows your password.")
    link = ("shield", gettext("Set up second factor"), reverse("account-signing-in"))
    steps.append(Step(gettext("Set up second factor"), text, bool(second_factors_of(person)), (link,)))
    return [] if all(step.is_done for step in steps) else steps
