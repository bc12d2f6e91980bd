"""URLs of zones as a whole; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zones import pages

urlpatterns = [
    path("zones/", pages.zone_list, name="zone-list"),
    path("zones/new/", pages.zone_new, name="zone-new"),
    path("zones/trash/", pages.zone_trash, name="zone-trash"),
    path("zones/trash/<int:zone_id>/restore/", pages.zone_restore, name="zone-restore"),
    path("zones/<zone:zone_name>/delete/", pages.zone_delete, name="zone-delete"),
    path("zones/<zone:zone_name>/settings/", pages.zone_settings, name="zone-settings"),
]
