"""Tests of the authentication of API requests."""

import base64

import pytest
from django.test import RequestFactory
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token
from dnspanel.api.authentication import TokenAuthentication, password_in, refusal, secret_in
from tests.people import alice as alice


def basic(text: bytes) -> str:
    return f"Basic {base64.b64encode(text).decode()}"


def request(**headers: str) -> Request:
    return Request(RequestFactory().get("/", REMOTE_ADDR="192.0.2.7", headers=headers))


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({"X-API-Key": "s"}, "s"),
        ({"Authorization": "Bearer s"}, "s"),
        ({"Authorization": "bearer  s "}, "s"),
        ({"Authorization": "Token s"}, ""),
        ({"X-API-Key": "s", "Authorization": "Bearer t"}, "s"),
        ({"Authorization": "Basic s"}, ""),
        ({"Authorization": "Bearer"}, ""),
        ({}, ""),
    ],
)
def test_the_secret_is_read_from_either_header(headers: dict[str, str], secret: str) -> None:
    assert secret_in(request(**headers)) == secret


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (basic(b"user:pass:word"), ("user", "pass:word")),
        (basic(b":s"), ("", "s")),
        (basic(b"nothing"), None),
        (basic(b"\xff:x"), None),
        ("Basic !", None),
        ("Bearer s", None),
        ("", None),
    ],
)
def test_a_password_is_read_from_basic_authentication(header: str, found: tuple[str, str] | None) -> None:
    assert password_in(request(Authorization=header)) == found


def test_a_good_token_acts_and_every_bad_one_is_refused_in_the_same_words(alice: User) -> None:
    terms = TokenTerms("CI", (Grant(EVERY_RIGHT, everywhere=True),))
    good, dead, elsewhere = (
        create_token(owner=alice, terms=each, by=alice, now=timezone.now())
        for each in (terms, terms, TokenTerms("CI", terms.scope, networks=("198.51.100.0/24",)))
    )
    revoke_token(token=dead.token, by=alice, now=timezone.now())
    authentication = TokenAuthentication()
    found = authentication.authenticate(request(**{"X-API-Key": good.secret}))
    assert found is not None
    assert (found[0], found[1].token) == (alice, good.token)
    assert authentication.authenticate(request()) is None
    for secret in (dead.secret, elsewhere.secret, "dnsp_unknown", "x"):
        with pytest.raises(AuthenticationFailed) as caught:
            authentication.authenticate(request(**{"X-API-Key": secret}))
        assert str(caught.value.detail) == refusal("192.0.2.7")


@pytest.mark.parametrize(
    ("sent", "named"), [("Token s3cret", "`Token …`"), ("Basic czpz", "`Basic …`"), ("a.b c", "that")]
)
def test_another_scheme_is_refused_with_the_one_that_is_meant(sent: str, named: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        TokenAuthentication().authenticate(request(Authorization=sent))
    said = str(caught.value.detail)
    assert "`Authorization: Bearer dnsp_…`" in said
    assert said.endswith(f"not as {named}.")
