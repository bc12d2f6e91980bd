"""Tests of the sign-up adapter: accounts are created by invitation only."""

from django.test import RequestFactory

from dnspanel.accounts.sign_in.adapter import PanelAccountAdapter


def test_nobody_signs_up_by_himself(rf: RequestFactory) -> None:
    request = rf.get("/")
    assert not PanelAccountAdapter(request).is_open_for_signup(request)
