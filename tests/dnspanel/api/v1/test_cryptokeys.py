"""DNSSEC keys, of which there are none."""

import pytest

from dnspanel.accounts.grants import Grant, Right
from dnspanel.accounts.models import User
from tests.dnspanel.api.v1.calls import caller, make_zone

KEYS = "/zones/a.test./cryptokeys"
pytestmark = pytest.mark.django_db


def test_a_zone_has_no_keys(bob: User) -> None:
    make_zone("a.test.")
    ask = caller(bob)
    assert ask.value("GET", KEYS) == []
    for method in ("GET", "PUT", "DELETE"):
        for key in ("1", "x", "99999999999999999999"):
            assert ask(method, f"{KEYS}/{key}", {"active": True}).status_code == 404


def test_none_can_be_added_and_the_reason_is_said(bob: User) -> None:
    make_zone("a.test.")
    assert "does not sign" in caller(bob).error("POST", KEYS, {"keytype": "ksk", "active": True})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "keytype"),
        ({"keytype": "foo"}, "Invalid keytype foo"),
        ({"keytype": "ksk", "bits": -1}, "'bits' must be"),
        ({"keytype": "ksk", "bits": "many"}, "'bits' must be"),
        ({"keytype": "ksk", "algorithm": "rot13"}, "Unknown algorithm: rot13"),
        ({"keytype": "ksk", "algorithm": []}, "Unknown algorithm: "),
        ({"keytype": "zsk", "content": "x", "bits": 1}, "Either you submit"),
        ({"keytype": "zsk", "privatekey": "x"}, "does not sign"),
    ],
)
def test_a_bad_key_is_refused_as_the_real_server_does(body: object, message: str, bob: User) -> None:
    make_zone("a.test.")
    assert message in caller(bob).error("POST", KEYS, body)


def test_all_keys_at_once_cannot_be_changed(bob: User) -> None:
    make_zone("a.test.")
    assert caller(bob)("DELETE", KEYS).status_code == caller(bob)("PUT", KEYS).status_code == 405


def test_zones_that_a_token_may_not_see_have_no_keys_page_either(bob: User) -> None:
    make_zone("a.test.")
    ask = caller(bob, Grant(frozenset({Right.READ}), zones=frozenset({2**30})))
    for method in ("GET", "POST"):
        assert ask(method, KEYS, {"keytype": "ksk"}).status_code == 404


def test_a_token_that_may_only_read_learns_that_it_may_not(bob: User) -> None:
    zone = make_zone("a.test.")
    ask = caller(bob, Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})))
    assert "may not change the settings" in ask.error("POST", KEYS, {"keytype": "ksk"}, status=403)
