"""The view that keeps how a list looks to its reader: its columns, and how dense its rows are."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dnspanel.accounts.people.list_looks import ListName, set_look
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest


@require_POST
def list_look(request: PanelRequest, of: str) -> HttpResponse:
    """Keep what is ticked, and go back to the list with its search and order."""
    try:
        name = ListName(of)
    except ValueError as exc:
        raise Http404 from exc
    dense = request.POST.get("dense") == "yes"
    set_look(person=request.user, of=name, columns=request.POST.getlist("column"), dense=dense)
    messages.success(request, gettext("The list looks so from now on, wherever you sign in."))
    return redirect(_list_of(request.POST.get("next", "")))


def _list_of(address: str) -> str:
    """Return the address if it is one of this panel; else the list of zones."""
    safe = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and address.startswith("/")
    return address if safe else reverse("zone-list")
