"""View that saves a user's columns and row density for a list, or hides the first steps on the dashboard."""

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dnspanel.accounts.people.list_looks import ListName, set_look
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, say_done


@require_POST
def list_look(request: PanelRequest, of: str) -> HttpResponse:
    """Save the selected columns and density. Redirect to the list with its search and sort order."""
    try:
        name = ListName(of)
    except ValueError as exc:
        raise Http404 from exc
    dense = request.POST.get("dense") == "yes"
    set_look(person=request.user, of=name, columns=request.POST.getlist("column"), dense=dense)
    saved = gettext("First steps hidden.") if name is ListName.HOME else gettext("List settings saved.")
    say_done(request, saved)
    return redirect(_list_of(request.POST.get("next", "")))


def _list_of(address: str) -> str:
    """Return the URL if it points into this panel, otherwise the URL of the zone list."""
    safe = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and address.startswith("/")
    return address if safe else reverse("zone-list")
