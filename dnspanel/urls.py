"""URLs of the panel."""

from django.urls import include, path

urlpatterns = [
    path("", include("dnspanel.fleet.nodes.urls")),
    path("", include("dnspanel.monitoring.urls")),
    path("", include("dnspanel.api.urls")),
    path("", include("dnspanel.web.urls")),
]
