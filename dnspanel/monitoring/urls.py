"""URLs of the health checks. The first middleware answers them."""

from django.urls import path

from dnspanel.monitoring.health_view import VIEWS

urlpatterns = [path(address.removeprefix("/"), view, name=address.removeprefix("/")) for address, view in VIEWS.items()]
