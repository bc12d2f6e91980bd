"""Tests of the URL that agents use."""

from django.urls import resolve

from dnspanel.fleet.nodes import views


def test_agents_enroll_at_a_fixed_address() -> None:
    assert resolve("/enroll/").func is views.enroll_agent
