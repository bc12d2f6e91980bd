"""The view of the dashboard: open problems, current fleet numbers, recent publications, and the person's own zones."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import can
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import User
from dnspanel.fleet.reads.queries import NodeStatus, head, node_statuses
from dnspanel.web.dashboard.attention import attention_lines
from dnspanel.web.dashboard.fleet_now import fleet_now
from dnspanel.web.editor.history.publications import display_publications
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.frame.read_once import draft_counts_of, statuses_of, watched_statuses_of
from dnspanel.zones.lists.zone_marks import marked_zones
from dnspanel.zones.log.publications import publication_page
from dnspanel.zones.rights import access

LAST_PUBLICATIONS = 10
MOST_DRAFTED = 6  # listed zones of the person's draft


@dataclass(frozen=True, slots=True)
class Steps:
    """The first three steps of setting up a panel, and whether each is done."""

    has_nodes: bool
    has_zones: bool
    has_people: bool

    @property
    def are_done(self) -> bool:
        return self.has_nodes and self.has_zones and self.has_people


@require_safe
def dashboard(request: PanelRequest) -> HttpResponse:
    """Show the dashboard. Every two seconds, htmx fetches only the fleet card."""
    now = timezone.now()
    sees_fleet = can(request.user, Permission.FLEET)
    if is_fragment(request):
        access.require(request.user, Permission.FLEET)
        return render(request, "dashboard/_fleet.html", {"fleet": fleet_now(node_statuses(now=now), head())})
    statuses = statuses_of(request)
    counts = draft_counts_of(request) if can(request.user, Permission.EDIT) else ()
    page = publication_page(person=request.user, limit=LAST_PUBLICATIONS)
    context = {
        "lines": attention_lines(request.user, watched_statuses_of(request), counts, now),
        "fleet": fleet_now(statuses, head()) if sees_fleet and statuses else None,
        "publications": display_publications(page.rows, statuses),
        "drafted": counts[:MOST_DRAFTED],
        "more_drafted": max(0, len(counts) - MOST_DRAFTED),
        "marks": marked_zones(request.user),
        "steps": _steps(request.user, statuses),
    }
    return render(request, "dashboard/dashboard.html", context)


def _steps(person: User, statuses: Sequence[NodeStatus]) -> Steps | None:
    """Return the setup steps, or None if no step is left that the person can do."""
    has_zones = access.zones_visible_to(person).exists()
    may_invite, may_enroll = can(person, Permission.PEOPLE), can(person, Permission.NODES)
    steps = Steps(
        has_nodes=bool(statuses) or not may_enroll,
        has_zones=has_zones,
        has_people=not may_invite or User.objects.filter(is_active=True).exclude(pk=person.pk).exists(),
    )
    return None if steps.are_done else steps
