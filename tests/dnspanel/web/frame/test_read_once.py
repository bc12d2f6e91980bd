"""Data that several parts of a page need is read once per request."""

from typing import Any

import pytest
from django.test import RequestFactory

from dnspanel.accounts.models import User
from dnspanel.web.frame.read_once import draft_counts_of, statuses_of

pytestmark = pytest.mark.django_db


def test_it_is_read_once_and_anew_for_the_next_request(
    alice: User, rf: RequestFactory, django_assert_num_queries: Any
) -> None:
    for _ in "ab":
        request = rf.get("/")
        request.user = alice
        with django_assert_num_queries(2):
            for _ in "xyz":
                assert (statuses_of(request), draft_counts_of(request)) == ((), ())
