"""The panel's URL configuration."""

from django.urls import include, path

handler500 = "dnspanel.server_errors.answer"

urlpatterns = [
    path("", include("dnspanel.fleet.nodes.urls")),
    path("", include("dnspanel.monitoring.urls")),
    path("", include("dnspanel.api.urls")),
    path("", include("dnspanel.web.urls")),
]
