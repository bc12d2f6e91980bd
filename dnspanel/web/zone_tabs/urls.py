"""URLs of what a zone's tabs tell besides its records; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zone_tabs import locks, settings, statistics, who_may

urlpatterns = [
    path("zones/<zone:zone_name>/access/", who_may.zone_access, name="zone-access"),
    path("zones/<zone:zone_name>/statistics/", statistics.zone_statistics, name="zone-statistics"),
    path("zones/<zone:zone_name>/settings/", settings.zone_settings, name="zone-settings"),
    path("zones/<zone:zone_name>/locks/", locks.zone_locks, name="zone-locks"),
    path("zones/<zone:zone_name>/locks/<int:lock_id>/lift/", locks.zone_lock_lift, name="zone-lock-lift"),
    path("changes/queries/", statistics.draft_queries, name="changes-queries"),
]
