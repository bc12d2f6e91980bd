"""Tests of sign-ins that wait for a second factor. `tests/dnspanel/web/account/test_second_factor.py` has the pages."""

from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory

from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.sign_in_stage import stage_of


def test_no_sign_in_waits_where_none_began_or_somebody_is_signed_in(rf: RequestFactory, bob: User) -> None:
    request = rf.get("/")
    request.session = SessionStore()
    for user in (AnonymousUser(), bob):
        request.user = user
        assert stage_of(request) is None
