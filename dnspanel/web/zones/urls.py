"""URLs of zones as a whole; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zones import clone, many, pages, palette, search, trash

urlpatterns = [
    path("search/", search.search, name="search"),
    path("frame/suggestions/", search.search_suggestions, name="search-suggestions"),
    path("frame/palette/", palette.palette, name="palette"),
    path("zones/", pages.zone_list, name="zone-list"),
    path("zones/many/", many.zone_many_zones, name="zone-many-zones"),
    path("zones/new/", pages.zone_new, name="zone-new"),
    path("zones/trash/", trash.zone_trash, name="zone-trash"),
    path("zones/trash/<int:zone_id>/", trash.zone_trashed, name="zone-trashed"),
    path("zones/trash/<int:zone_id>/restore/", trash.zone_restore, name="zone-restore"),
    path("zones/trash/<int:zone_id>/gone/", trash.zone_gone, name="zone-gone"),
    path("zones/<zone:zone_name>/clone/", clone.zone_clone, name="zone-clone"),
    path("zones/<zone:zone_name>/delete/", pages.zone_delete, name="zone-delete"),
]
