"""URLs for the APIs. Only SCIM URLs can end in a slash."""

from django.urls import URLPattern, URLResolver, include, path

from dnspanel.api import dyndns
from dnspanel.monitoring.view import MetricsView

app_name = "api"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("dnspanel.api.v1.urls")),
    path("", include("dnspanel.api.v2.urls")),
    path("scim/v2/", include("dnspanel.api.scim.urls")),
    path("metrics", MetricsView.as_view(), name="metrics"),
    # The two paths of the dyndns2 protocol. Clients with other paths must be configured.
    path("nic/update", dyndns.update, name="dyndns"),
    path("v3/update", dyndns.update, name="dyndns-v3"),
]
