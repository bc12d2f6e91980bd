"""URLs for agents. The URLs of pages for people are in `dnspanel.web`."""

from django.urls import path

from dnspanel.fleet.nodes import views

urlpatterns = [path("enroll/", views.enroll_agent, name="enroll-agent")]
