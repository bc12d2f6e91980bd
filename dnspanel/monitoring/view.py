"""`GET /metrics` for Prometheus, for tokens that can see nodes and for clients in the operator's networks."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.accounts.actors.actors import Actor, Permission, can
from dnspanel.accounts.audit import audit
from dnspanel.monitoring.health import faults, ready
from dnspanel.monitoring.metrics import exposition


class MayScrape(BasePermission):
    """Permission for tokens that can see nodes, and for addresses that the operator configured."""

    message = f"This token may not: {Permission.FLEET}."

    def has_permission(self, request: Request, view: APIView) -> bool:
        if isinstance(request.auth, Actor):
            return can(request.auth, Permission.FLEET)
        return _is_within(audit.origin().address, settings.METRICS_NETWORKS)


class PlainText(BaseRenderer):
    """Renderer for plain-text error messages. The metrics themselves aren't rendered."""

    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(self, data: Any, media_type: str | None = None, context: Mapping[str, Any] | None = None) -> bytes:
        return f"{data['detail'] if isinstance(data, dict) and 'detail' in data else data}\n".encode()


class MetricsView(APIView):
    """All metrics in Prometheus's text format."""

    permission_classes = (MayScrape,)
    renderer_classes = (PlainText,)

    def perform_content_negotiation(self, request: Request, *, force: bool = False) -> tuple[BaseRenderer, str]:
        """Return the plain-text renderer, regardless of the format that the client requested."""
        return PlainText(), PlainText.media_type

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise OperationalError within a second if PostgreSQL is unreachable. Prometheus's own timeout is longer."""
        if "postgresql" in faults(ready()):
            raise OperationalError("PostgreSQL does not answer")
        super().initial(request, *args, **kwargs)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        answer = HttpResponse(exposition(timezone.now()), content_type=CONTENT_TYPE_LATEST)
        answer["Cache-Control"] = "no-store"
        return answer


def _is_within(address: str | None, networks: Sequence[str]) -> bool:
    if not address or not networks:
        return False
    try:
        found = ip_address(address)
    except ValueError:
        return False
    parsed: list[IPv4Network | IPv6Network] = [ip_network(network) for network in networks]
    return any(found in network for network in parsed)
