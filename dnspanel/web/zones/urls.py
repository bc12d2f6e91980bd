"""URLs of zones, except their editor and tabs. `web.urls` includes them, and registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zones import (
    change_runs,
    clone,
    delete_zone,
    pages,
    restore_many,
    search,
    search_offers,
    selected_zones,
    transferred,
    trash,
)

urlpatterns = [
    path("search/", search.search, name="search"),
    path("search/offers/", search_offers.search_offers, name="search-offers"),
    path("zones/", pages.zone_list, name="zone-list"),
    path("zones/many/", selected_zones.zone_many_zones, name="zone-many-zones"),
    path("zones/many/runs/", change_runs.change_run_list, name="zone-change-runs"),
    path("zones/many/runs/<int:change_run_id>/", change_runs.change_run, name="zone-change-run"),
    path("zones/many/runs/<int:change_run_id>/apply/", change_runs.change_run_apply, name="zone-change-run-apply"),
    path("zones/many/runs/<int:change_run_id>/cancel/", change_runs.change_run_cancel, name="zone-change-run-cancel"),
    path("zones/many/runs/<int:change_run_id>/undo/", change_runs.change_run_undo, name="zone-change-run-undo"),
    path("zones/new/", pages.zone_new, name="zone-new"),
    path("zones/new/transferred/", transferred.zone_new_transferred, name="zone-new-transferred"),
    path("zones/trash/", trash.zone_trash, name="zone-trash"),
    path("zones/trash/restore/", restore_many.zone_restore_many, name="zone-restore-many"),
    path("zones/trash/<int:zone_id>/", trash.zone_trashed, name="zone-trashed"),
    path("zones/trash/<int:zone_id>/restore/", trash.zone_restore, name="zone-restore"),
    path("zones/trash/<int:zone_id>/gone/", trash.zone_gone, name="zone-gone"),
    path("zones/<zone:zone_name>/clone/", clone.zone_clone, name="zone-clone"),
    path("zones/<zone:zone_name>/delete/", delete_zone.zone_delete, name="zone-delete"),
]
