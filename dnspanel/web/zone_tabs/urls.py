"""URLs of what a zone's tabs tell besides its records; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zone_tabs import who_may

urlpatterns = [
    path("zones/<zone:zone_name>/access/", who_may.zone_access, name="zone-access"),
]
