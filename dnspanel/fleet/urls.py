"""URLs that agents call; people's pages are in `dnspanel.web`."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
