"""View of the zones that aren't in sync on every node."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.fleet.reads.differences import MOST_ZONES, matrix
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.rights import access


@require_safe
def node_matrix(request: PanelRequest) -> HttpResponse:
    """Show the zones that aren't in sync, with only the nodes that differ.

    A search shows the matching zones on every node. Only zones that the user is allowed to read are shown.
    """
    access.require(request.user, Permission.FLEET)
    search = request.GET.get("zone", "").strip().lower()[:255]
    context = {"matrix": matrix(person=request.user, search=search), "search": search, "most": MOST_ZONES}
    return render(request, "fleet/_matrix.html" if is_fragment(request) else "fleet/matrix.html", context)
