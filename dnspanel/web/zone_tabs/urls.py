"""URLs of what a zone's tabs tell besides its records; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zone_tabs import settings, statistics, who_may

urlpatterns = [
    path("zones/<zone:zone_name>/access/", who_may.zone_access, name="zone-access"),
    path("zones/<zone:zone_name>/statistics/", statistics.zone_statistics, name="zone-statistics"),
    path("zones/<zone:zone_name>/settings/", settings.zone_settings, name="zone-settings"),
    path("changes/queries/", statistics.draft_queries, name="changes-queries"),
]
