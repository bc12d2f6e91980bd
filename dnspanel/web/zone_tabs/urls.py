"""URLs of a zone's tabs, except its records. `web.urls` includes them, and registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zone_tabs import (
    default_ttl,
    health,
    keyless,
    locks,
    primaries,
    settings,
    statistics,
    who_may,
    zone_map,
)

urlpatterns = [
    path("zones/<zone:zone_name>/access/", who_may.zone_access, name="zone-access"),
    path("zones/<zone:zone_name>/health/", health.zone_health, name="zone-health"),
    path("zones/<zone:zone_name>/map/", zone_map.zone_map, name="zone-map"),
    path("zones/<zone:zone_name>/statistics/", statistics.zone_statistics, name="zone-statistics"),
    path("zones/<zone:zone_name>/settings/", settings.zone_settings, name="zone-settings"),
    path("zones/<zone:zone_name>/settings/serials/", settings.zone_serials, name="zone-serials"),
    path("zones/<zone:zone_name>/settings/ttl/", default_ttl.zone_default_ttl, name="zone-default-ttl"),
    path("zones/<zone:zone_name>/settings/transfers/", keyless.zone_transfers, name="zone-transfers"),
    path("zones/<zone:zone_name>/locks/", locks.zone_locks, name="zone-locks"),
    path("zones/<zone:zone_name>/locks/<int:lock_id>/lift/", locks.zone_lock_lift, name="zone-lock-lift"),
    path("zones/<zone:zone_name>/primaries/", primaries.zone_primaries, name="zone-primaries"),
    path("zones/<zone:zone_name>/primaries/ask/", primaries.zone_primaries_ask, name="zone-primaries-ask"),
    path("zones/<zone:zone_name>/primaries/take-over/", primaries.zone_take_over, name="zone-take-over"),
    path("zones/<zone:zone_name>/primaries/give-back/", primaries.zone_give_back, name="zone-give-back"),
    path("changes/queries/", statistics.draft_queries, name="changes-queries"),
]
