"""Tests of sign-out: a sign-out at the provider ends the panel's sessions, and one here offers it there."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, SignInProvider, User
from dnspanel.accounts.providers.oidc.logout import session_key
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.sessions.session_store import AT_PROVIDER
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider, Somebody, added, comes, is_signed_in
from tests.people import PASSWORD

EVE = Somebody("eve", "eve@people.test", Groups=["web"])
ENDED = "/sign-in/by/one/ended/"
EVENTS = {"http://schemas.openid.net/event/backchannel-logout": {}}
Sign = Callable[..., str]


@pytest.fixture
def signed(idp: AtProvider) -> Iterator[tuple[SignInProvider, Sign]]:
    """Yield Eve's provider and a signer of logout tokens. Signing moves the provider to an issuer with the test's key,
    because the real one doesn't issue such tokens.
    """
    key = rsa.generate_private_key(65537, 2048)
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": "k"}

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            content = {"issuer": here} | {name: f"{here}/{name}" for name in names}
            body = json.dumps({"keys": [public]} if self.path == "/jwks_uri" else content).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    row = added(idp, makes_people=True, rules=(Rule("web", "reader"),))
    idp.users(e1=EVE)
    issuer = f"http://127.0.0.1:{server.server_port}"

    def sign(**claims: Any) -> str:
        SignInProvider.objects.filter(pk=row.pk).update(issuer=issuer)
        at = int(timezone.now().timestamp())
        told = {"iss": issuer, "aud": "client", "iat": at, "jti": "1", "events": EVENTS, "sub": "e1"} | claims
        return jwt.encode(
            {name: value for name, value in told.items() if value is not None}, key, "RS256", {"kid": "k"}
        )

    yield row, sign
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_sign_out_at_the_provider_ends_the_sessions_that_came_from_it(
    idp: AtProvider, signed: tuple[SignInProvider, Sign], client: Client
) -> None:
    _, sign = signed
    comes(client, idp, "eve")
    other, by_password = Client(), Client()
    comes(other, idp, "eve")
    eve = User.objects.get(username="eve")
    eve.set_password(PASSWORD)
    eve.save()
    for each in (client, other):  # the new password ended their sessions
        comes(each, idp, "eve")
    by_password.post("/sign-in/", {"login": "eve", "password": PASSWORD})
    assert all(map(is_signed_in, (client, other, by_password)))
    for _ in range(2):  # a repetition ends no other session
        answer = Client().post(ENDED, {"logout_token": sign()})
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert [is_signed_in(each) for each in (client, other, by_password)] == [False, False, True]
    entries = AuditEntry.objects.filter(action="oidc.logout").values_list("target", "user", "details__provider")
    assert list(entries) == [("eve", None, "One")] * 2


def test_a_session_that_is_named_ends_alone(
    idp: AtProvider, signed: tuple[SignInProvider, Sign], client: Client
) -> None:
    row, sign = signed
    clients = {"s1": client, "s2": Client(), "s3": Client()}
    for name, each in clients.items():
        comes(each, idp, "eve")
        session = each.session
        session[AT_PROVIDER] = session_key(row, name)
        session.save()
    assert Client().post(ENDED, {"logout_token": sign(sub=None, sid="s1")}).status_code == 200
    assert Client().post(ENDED, {"logout_token": sign(sid="s2")}).status_code == 200
    assert Client().post(ENDED, {"logout_token": sign(sub="somebody-else", sid="s3")}).status_code == 200
    assert [is_signed_in(each) for each in clients.values()] == [False, False, True]


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"events": {}}, "logout-token"),
        ({"events": {next(iter(EVENTS)): "yes"}}, "logout-token"),
        ({"events": None}, "id-token"),
        ({"jti": None}, "id-token"),
        ({"nonce": "n-0S6"}, "logout-token"),
        ({"sub": None}, "logout-token"),
        ({"sub": 7}, "id-token"),
        ({"aud": "another"}, "audience"),
        ({"iss": "https://evil.test"}, "issuer"),
        ({"iat": 1_700_000_000}, "expired"),
        ({"iat": "now"}, "id-token"),
        ({"exp": 1_700_000_000}, "expired"),
    ],
    ids=str,
)
def test_what_is_no_logout_token_of_the_provider_ends_nothing_and_is_written_down(
    idp: AtProvider, signed: tuple[SignInProvider, Sign], client: Client, claims: dict[str, Any], reason: str
) -> None:
    _, sign = signed
    comes(client, idp, "eve")
    answer = Client().post(ENDED, {"logout_token": sign(**claims)})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert is_signed_in(client)
    assert AuditEntry.objects.get(action="oidc.refused").details["reason"] == reason


def test_a_token_of_another_key_or_none_ends_nothing(
    idp: AtProvider, signed: tuple[SignInProvider, Sign], client: Client
) -> None:
    _, sign = signed
    comes(client, idp, "eve")
    good = sign()
    for token in (good[:-8] + "AAAAAAAA", "", None, "x" * 200_000):
        assert Client().post(ENDED, {} if token is None else {"logout_token": token}).status_code == 400
    assert Client().post("/sign-in/by/nobody/ended/", {"logout_token": good}).status_code == 404
    assert Client().get(ENDED, headers={"Sec-Fetch-Dest": "empty"}).status_code == 405
    assert is_signed_in(client)


def test_who_signs_out_here_is_shown_the_way_out_there(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(Rule("web", "reader"),))
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    page = client.post("/sign-out/")
    assert not is_signed_in(client)
    url = urlsplit(page.context["url"])
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}" == idp.issuer
    assert query["client_id"] == "client"
    assert query["post_logout_redirect_uri"].endswith("/sign-in/")
    claims = jwt.decode(query["id_token_hint"], options={"verify_signature": False})
    assert claims["sub"] == "e1"
    # The request has the hint, but not the return URL, which the provider doesn't know.
    query.pop("post_logout_redirect_uri")
    there = requests.get(f"{idp.issuer}{url.path}", query, timeout=10, allow_redirects=False)
    assert there.status_code in {200, 302}, there.text


def test_who_signed_in_by_a_password_leaves_as_before(client: Client, bob: User) -> None:
    client.post("/sign-in/", {"login": "bob", "password": PASSWORD})
    assert client.post("/sign-out/").status_code == 302
