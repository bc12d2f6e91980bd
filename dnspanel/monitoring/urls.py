"""URLs of the answers about health, which the first middleware gives."""

from django.urls import path

from dnspanel.monitoring.health_view import VIEWS

urlpatterns = [path(address.removeprefix("/"), view, name=address.removeprefix("/")) for address, view in VIEWS.items()]
