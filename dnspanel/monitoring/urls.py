"""URLs of the health checks, for `reverse`. `HealthMiddleware` answers them before URLs are resolved."""

from django.urls import path

from dnspanel.monitoring.health_view import VIEWS

urlpatterns = [path(address.removeprefix("/"), view, name=address.removeprefix("/")) for address, view in VIEWS.items()]
