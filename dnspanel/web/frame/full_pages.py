"""Middleware that redirects users who open the URL of an action, a fragment or JSON to the object's page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import Resolver404, resolve, reverse
from django.utils.http import urlencode

# The object's page for each URL that is not below that page. Both are names of URLs.
_PAGES = {
    "account-passkey-remove": "account-signing-in",
    "alert-bell": "alert-list",
    "fleet-pill": "node-list",
    "grant-take": "people",
    "list-look": "zone-list",
    "node-acts": "node-list",
    "node-rows": "node-list",
    "people-link-unlink": "people-providers",
}


class FullPagesMiddleware:
    """Middleware that redirects users from URLs that have no page of their own, for example after going back."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if _is_opened(request) and not _is_full(request, response) and (page := _page_of(request)):
            return redirect(page)
        return response


def _is_opened(request: HttpRequest) -> bool:
    """Return True if a user opens the URL: the request isn't from a script, and the browser accepts HTML."""
    return (
        request.method in {"GET", "HEAD"}
        and "HX-Request" not in request.headers
        and request.headers.get("Sec-Fetch-Dest", "document") == "document"
        and request.get_preferred_type(["text/html", "application/json"]) == "text/html"
    )


def _is_full(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Return False if the response is part of a page, JSON for a browser, or status 204 or 405."""
    if response.status_code in {204, 405}:
        return False
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if not isinstance(response, HttpResponse) or "Location" in response or "Content-Disposition" in response:
        return True
    if kind == "text/html":
        return response.content.lstrip()[:9].lower() == b"<!doctype"
    return kind != "application/json" or "text/html" not in request.headers.get("Accept", "")


def _page_of(request: HttpRequest) -> str:
    """Return the URL of the object's page, or "" for the API or if no parent URL is valid.

    The page is listed in `_PAGES`, or is the nearest valid parent URL. It keeps the query string, which can name a
    record.
    """
    match = request.resolver_match
    if match is None or match.app_names[:1] == ["api"]:
        return ""
    page = reverse(_PAGES[match.view_name]) if match.view_name in _PAGES else _url_above(request.path)
    query = urlencode(request.GET, doseq=True)
    return f"{page}?{query}" if page and query else page


def _url_above(path: str) -> str:
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    return ""
