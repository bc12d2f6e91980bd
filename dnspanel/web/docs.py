"""Views of the API documentation: guides, and the operations of the OpenAPI document."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.tokens.tokens import tokens_visible_to
from dnspanel.texts import gettext_lazy
from dnspanel.web.access.tokens import state_of
from dnspanel.web.api_document import TOKEN, Group, events_of, groups_of, problems_of
from dnspanel.web.frame.layout import PanelRequest, actor_for


@dataclass(frozen=True, slots=True)
class Guide:
    """A handwritten page of the documentation."""

    slug: str
    title: str


GUIDES = (
    Guide("start", gettext_lazy("Overview")),
    Guide("errors", gettext_lazy("Errors")),
    Guide("paging", gettext_lazy("Pagination and filters")),
    Guide("etag", gettext_lazy("ETag and 412")),
    Guide("idempotency", gettext_lazy("Idempotency key")),
    Guide("limits", gettext_lazy("Limits")),
    Guide("webhooks", gettext_lazy("Webhooks")),
    Guide("compatibility", gettext_lazy("Compatibility")),
    Guide("powerdns", gettext_lazy("PowerDNS-compatible API")),
    Guide("dyndns2", "dyndns2"),
    Guide("rfc2136", gettext_lazy("DNS UPDATE (RFC 2136)")),
    Guide("cli", gettext_lazy("Command line")),
)


@require_safe
def api_docs(request: PanelRequest, page: str = "start") -> HttpResponse:
    """Show a guide, or the API operations for one task."""
    groups = _groups(settings.PANEL_URL)
    guide = next((each for each in GUIDES if each.slug == page), None)
    # A task can have the same name as a guide, so task pages have a prefix.
    group = next((each for each in groups if f"task-{each.slug}" == page), None)
    if guide is None and group is None:
        raise Http404
    context = {
        "guides": GUIDES,
        "groups": groups,
        "guide": guide,
        "group": group,
        "title": guide.title if guide else group.title if group else "",
        "guide_template": f"docs/_{guide.slug}.html" if guide else "",
        "tokens": _own_tokens(request),
        "placeholder": TOKEN,
        "panel_url": settings.PANEL_URL,
        "panel_host": urlsplit(settings.PANEL_URL).hostname,
        "update_port": settings.UPDATE_PORT,
        "per_minute": settings.API_REQUESTS_PER_MINUTE,
        "problems": problems_of(_document()) if page == "errors" else (),
        "events": events_of(_document()) if page == "webhooks" else (),
    }
    return render(request, "docs/page.html", context)


@require_safe
def api_document(request: PanelRequest) -> JsonResponse:
    """Return the OpenAPI document as JSON."""
    document = {**_document(), "servers": [{"url": settings.PANEL_URL}]}
    return JsonResponse(document, headers={"Content-Disposition": "inline; filename=openapi.json"})


def _own_tokens(request: PanelRequest) -> list[Token]:
    """Return the reader's newest API tokens that still work, newest first."""
    actor = actor_for(request)
    own = tokens_visible_to(actor).filter(owner=actor.user, kind=TokenKind.API, revoked_at=None).order_by("-pk")[:50]
    now = timezone.now()
    return [token for token in own if state_of(token, now).is_alive]


@cache
def _document() -> dict[str, Any]:
    """Return the OpenAPI document. The document depends only on the code, so each process generates it once."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


@cache
def _groups(panel_url: str) -> tuple[Group, ...]:
    return groups_of(_document(), panel_url)
