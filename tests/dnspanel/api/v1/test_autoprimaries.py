"""Tests of autoprimaries: the list is always empty."""

import pytest

from dnspanel.accounts.models import User
from tests.dnspanel.api.v1.calls import caller

pytestmark = pytest.mark.django_db


def test_there_are_none_and_deleting_one_is_done(bob: User) -> None:
    ask = caller(bob)
    assert ask.value("GET", "/autoprimaries") == []
    assert ask("DELETE", "/autoprimaries/192.0.2.1/ns1.a.test").status_code == 204


def test_none_can_be_added_and_the_reason_is_said(bob: User) -> None:
    ask = caller(bob)
    reason = ask.error("POST", "/autoprimaries", {"ip": "192.0.2.1", "nameserver": "ns1.a.test"})
    assert "takes no zones" not in reason, "it does, of kinds Secondary and Consumer"
    assert all(word in reason for word in ("NOTIFY", "kind Secondary", "kind Consumer"))
    assert ask.value("GET", "/autoprimaries") == []


@pytest.mark.parametrize(
    "body", [{}, [], {"ip": "192.0.2.1"}, {"ip": 1, "nameserver": "x"}, {"ip": "", "nameserver": ""}]
)
def test_a_bad_one_is_refused_as_the_real_server_does(body: object, bob: User) -> None:
    assert caller(bob).error("POST", "/autoprimaries", body)
