"""URLs of the settings; included by `web.urls`."""

from django.urls import path

from dnspanel.web.settings import pages

urlpatterns = [
    path("settings/", pages.settings_page, name="settings"),
    path("settings/zones/", pages.settings_zones, name="settings-zones"),
]
