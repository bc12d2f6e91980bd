"""URLs of the web face."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
