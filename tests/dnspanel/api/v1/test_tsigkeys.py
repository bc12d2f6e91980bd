"""Tests of TSIG keys over HTTP."""

import pytest

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Permission, Right
from dnspanel.accounts.models import AuditEntry, Token, User
from dnspanel.accounts.tokens.tokens import tsig_secret
from tests.dnspanel.api.v1.calls import Caller, caller

SECRET = "c2l4dGVlbiBieXRlcyBub3c="
OTHER_SECRET = "YW5vdGhlciBzaXh0ZWVuIGJ5dGVz"
KEY = {"algorithm": "hmac-sha256", "id": "k1.", "key": SECRET, "name": "k1", "type": "TSIGKey"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(bob: User) -> Caller:
    return caller(bob, permissions={Permission.SECRETS})


def made(ask: Caller, **members: object) -> object:
    return ask.value("POST", "/tsigkeys", {"name": "k1", "algorithm": "hmac-sha256", **members}, status=201)


def test_a_key_is_made_listed_without_its_secret_shown_and_deleted(ask: Caller) -> None:
    assert ask.value("GET", "/tsigkeys") == []
    assert made(ask, key=SECRET, type="ignored", id="ignored") == KEY
    assert ask.value("GET", "/tsigkeys") == [{**KEY, "key": ""}]
    assert ask.value("GET", "/tsigkeys/k1.") == ask.value("GET", "/tsigkeys/k1") == KEY
    assert ask("DELETE", "/tsigkeys/k1.").status_code == 204
    assert ask("GET", "/tsigkeys/k1.").status_code == ask("DELETE", "/tsigkeys/k1.").status_code == 404


def test_without_a_secret_one_is_made_which_signs_as_shown(ask: Caller) -> None:
    created = made(ask)
    assert created == ask.value("GET", "/tsigkeys/k1")
    assert len(tsig_secret(Token.objects.get(tsig_name="k1."))) == 32


def test_a_name_is_taken_once_however_it_is_spelled(ask: Caller) -> None:
    made(ask)
    taken = {"name": "K1.", "algorithm": "hmac-sha1"}
    assert ask.error("POST", "/tsigkeys", taken, status=409) == "A TSIG key with the name 'k1' already exists"
    assert ask("POST", "/tsigkeys", taken, accept="*/*").content == b"Conflict"


def test_ids_are_escaped_as_those_of_zones(ask: Caller) -> None:
    assert ask.value("POST", "/tsigkeys", {"name": "a_b/c", "algorithm": "hmac-sha1"}, status=201)["id"] == "a=5Fb=2Fc."
    for id in ("a=5Fb=2Fc", "a_b/c.", "a_b%2Fc"):
        assert ask.value("GET", f"/tsigkeys/{id}")["name"] == "a_b/c"
    assert ask("GET", "/tsigkeys/=ZZ").status_code == 400


def test_a_part_of_a_key_is_changed_and_the_rest_stays(ask: Caller) -> None:
    made(ask, key=SECRET)
    assert ask.value("PUT", "/tsigkeys/k1.") == ask.value("PUT", "/tsigkeys/k1.", {}) == KEY
    assert ask.value("PUT", "/tsigkeys/k1.", {"algorithm": "hmac-sha1"}) == {**KEY, "algorithm": "hmac-sha1"}
    assert ask.value("PUT", "/tsigkeys/k1.", {"key": OTHER_SECRET})["key"] == OTHER_SECRET
    assert ask.value("PUT", "/tsigkeys/k1.", {"name": "k2"})["id"] == "k2."
    assert ask("GET", "/tsigkeys/k1.").status_code == 404
    made(ask)
    assert ask("PUT", "/tsigkeys/k1.", {"name": "k2."}).status_code == 409


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "Key 'name' not present or not a String"),
        ({"name": "k1"}, 422, "Key 'algorithm' not present or not a String"),
        ({"name": "k1", "algorithm": "rot13"}, 400, "Invalid TSIG algorithm: rot13"),
        ({"name": "k1", "algorithm": "rot13", "key": SECRET}, 422, "Unknown TSIG algorithm: rot13"),
        ({"name": "k1", "algorithm": "hmac-sha1", "key": "%%"}, 422, "TSIG content '%%' cannot be base64-decoded"),
        ({"name": "a..b", "algorithm": "hmac-sha1"}, 422, "Unable to parse DNS Name 'a..b'"),
        ({"name": ".", "algorithm": "hmac-sha1"}, 422, "A TSIG key needs a name"),
    ],
)
def test_bad_keys_are_refused_as_the_real_server_does(body: object, status: int, message: str, ask: Caller) -> None:
    assert ask.error("POST", "/tsigkeys", body, status=status) == message


@pytest.mark.parametrize("body", [{"algorithm": "rot13"}, {"key": "=="}, {"key": ""}, {"name": "a..b"}])
def test_bad_changes_are_refused(body: object, ask: Caller) -> None:
    made(ask)
    assert ask.error("PUT", "/tsigkeys/k1.", body)


def test_a_token_for_records_has_nothing_to_do_with_keys(ask: Caller, bob: User) -> None:
    made(ask)
    updating = caller(bob, Grant(RECORD_RIGHTS | {Right.READ}, everywhere=True))
    assert updating.value("GET", "/tsigkeys") == []
    assert updating("POST", "/tsigkeys", {"name": "k2", "algorithm": "hmac-sha1"}).status_code == 403
    for method in ("GET", "PUT", "DELETE"):
        assert updating(method, "/tsigkeys/k1.", {}).status_code == 404


def test_a_secret_is_one_time_page_to_who_may_not_read_it_again(ask: Caller, bob: User) -> None:
    """Regression test: every token with a right to change some zone's settings could read the secret, unlogged."""
    once = caller(bob)
    assert once.value("POST", "/tsigkeys", {"name": "k1", "algorithm": "hmac-sha256"}, status=201)["key"]
    assert once.value("GET", "/tsigkeys/k1.")["key"] == once.value("PUT", "/tsigkeys/k1.", {"name": "k2"})["key"] == ""
    assert once.value("PUT", "/tsigkeys/k2.", {"key": OTHER_SECRET})["key"] == OTHER_SECRET
    assert not AuditEntry.objects.filter(action="token.secret").exists()
    assert ask.value("GET", "/tsigkeys/k2.")["key"] == OTHER_SECRET
    assert AuditEntry.objects.get(action="token.secret").token == ask.token


def test_an_administrators_token_changes_nobody_elses_key(ask: Caller, alice: User) -> None:
    made(ask)
    people = caller(alice, permissions={Permission.PEOPLE, Permission.SECRETS})
    assert people.value("GET", "/tsigkeys/k1.")["key"] == ""
    assert people("PUT", "/tsigkeys/k1.", {"key": OTHER_SECRET}).status_code == 403


@pytest.mark.parametrize(("key", "message"), [("Zm9v", "24 bits"), ("%%", "base64")])
def test_a_secret_that_is_too_short_says_so(ask: Caller, key: str, message: str) -> None:
    assert message in ask.error("POST", "/tsigkeys", {"name": "k1", "algorithm": "hmac-sha256", "key": key})
