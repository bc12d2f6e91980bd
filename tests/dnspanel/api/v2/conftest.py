"""Fixtures of API v2: a client with a token."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.api.described import check_answer
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.fleet.conftest import waiting_node as waiting_node
from tests.dnspanel.zones.conftest import MakeZone as MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

ROOT = "/api/v2"
EVERYTHING = Grant(EVERY_RIGHT, everywhere=True)


@dataclass(frozen=True)
class Caller:
    """A client of API v2 with one token. Paths are relative, and keywords are headers (`if_match=…`).

    The client checks every answer against the OpenAPI document.
    """

    secret: str
    token: Token | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, body: Any = None, *, media: str = "", **headers: str) -> HttpResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | self.headers
        if self.secret:
            sent["Authorization"] = f"Bearer {self.secret}"
        data = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body).encode()
        url = path if path.startswith(("/api", "http")) else ROOT + path
        response = Client(raise_request_exception=False).generic(
            method, url, data, media or "application/json", headers=sent
        )
        if response.status_code != 500:
            check_answer(method, url, response)
        return response

    def get(self, path: str, **headers: str) -> Any:
        """Send a GET request and return the JSON. Fail unless it succeeds."""
        return self.good("GET", path, **headers)

    def good(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the JSON, or None if the body is empty. Fail unless the status is 2xx."""
        found = self(method, path, body, **headers)
        assert 200 <= found.status_code < 300, (found.status_code, found.content)
        return json.loads(found.content) if found.content else None

    def problem(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the problem document of the answer, which must have this status."""
        found = self(method, path, body, **headers)
        assert found.status_code == status, (found.status_code, found.content)
        assert found["Content-Type"] == "application/problem+json"
        problem = json.loads(found.content)
        assert problem["status"] == status
        assert problem["type"] == f"/api/v2/problems/{problem['code']}"
        return problem

    def all(self, path: str) -> list[Any]:
        """Return the items of all pages of a list."""
        items: list[Any] = []
        url: str | None = path
        while url:
            page = self.get(url)
            items += page["items"]
            url = page["next"] and page["next"].removeprefix("http://testserver")
        return items


MakeCaller = Callable[..., Caller]


@pytest.fixture
def make_caller(alice: User) -> MakeCaller:
    """Return a function that creates a token with this scope and returns a client with it."""

    def make_caller(*scope: Grant, owner: User = alice, **terms: Any) -> Caller:
        given = {"permissions": frozenset({Permission.FLEET})} | terms
        found = TokenTerms("tests", scope or (EVERYTHING,), **given)
        made = create_token(owner=owner, terms=found, by=owner, now=timezone.now())
        return Caller(made.secret, made.token)

    return make_caller


@pytest.fixture
def call(make_caller: MakeCaller) -> Caller:
    """Return a client whose token has all rights over zones and can read nodes."""
    return make_caller()


def content(*rdata: str, ttl: int = 300, **more: Any) -> dict[str, Any]:
    """Return the body of a PUT request for an RRset."""
    return {"ttl": ttl, "rdata": list(rdata), **more}


def replace(name: str, type: str, *rdata: str, ttl: int = 300, **more: Any) -> dict[str, Any]:
    """Return an operation for a bulk change that replaces an RRset."""
    return {"op": "replace", "name": name, "type": type, "ttl": ttl, "rdata": list(rdata), **more}
