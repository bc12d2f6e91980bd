"""The view of the matrix: zones that are not the same on every node, and the nodes they differ on."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.roles import Permission
from dnspanel.fleet.reads.differences import MOST_ZONES, matrix
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.rights import access


@require_safe
def node_matrix(request: PanelRequest) -> HttpResponse:
    """Show the zones that differ; with a search, the zones found on every node. Only zones this person may read."""
    access.require(request.user, Permission.FLEET)
    search = request.GET.get("zone", "").strip().lower()[:255]
    context = {"matrix": matrix(person=request.user, search=search), "search": search, "most": MOST_ZONES}
    return render(request, "fleet/_matrix.html" if is_fragment(request) else "fleet/matrix.html", context)
