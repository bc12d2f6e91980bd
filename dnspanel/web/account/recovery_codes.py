"""The page that shows recovery codes, once."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.one_time_page import show_once


def page_with_codes(request: PanelRequest, codes: list[str]) -> HttpResponse:
    """Redirect to a page that shows these recovery codes once."""
    page = render(request, "account/recovery_codes.html", {"codes": "\n".join(codes)})
    return show_once(request, page, after=reverse("account-signing-in"))
