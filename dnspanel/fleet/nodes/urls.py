"""URLs for agents. The URLs of pages are in `dnspanel.web`."""

from django.urls import path

from dnspanel.fleet.nodes import views

urlpatterns = [path("enroll/", views.enroll_agent, name="enroll-agent")]
