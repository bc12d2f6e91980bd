"""URLs for API v1, at the root of the host, because some clients can't use a path before `/api`."""

from django.urls import URLPattern, URLResolver, path, re_path

from dnspanel.api.v1 import urls_server
from dnspanel.api.v1.view import NothingHere
from dnspanel.api.v1.zone_calls import AxfrRetrieve, Export, Notify, Rectify
from dnspanel.api.v1.zones import OneZone, Zones

ZONES = "api/v1/servers/<str:server_id>/zones"
ZONE = f"{ZONES}/<name:zone_id>"

urlpatterns: list[URLPattern | URLResolver] = [
    *urls_server.urlpatterns,
    path(ZONES, Zones.as_view(), name="v1-zones"),
    path(f"{ZONE}/notify", Notify.as_view(), name="v1-zone-notify"),
    path(f"{ZONE}/rectify", Rectify.as_view(), name="v1-zone-rectify"),
    path(f"{ZONE}/export", Export.as_view(), name="v1-zone-export"),
    path(f"{ZONE}/axfr-retrieve", AxfrRetrieve.as_view(), name="v1-zone-axfr-retrieve"),
    path(ZONE, OneZone.as_view(), name="v1-zone"),
    re_path(r"^api/v1(?:/[\s\S]*)?$", NothingHere.as_view(), name="v1-nothing"),
]
