"""Fixtures of API v1: a client that returns complete answers with all headers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.models import Zone
from tests.dnspanel.zones.conftest import MakeZone as MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

SERVER = "/api/v1/servers/localhost"
EVERYTHING = Grant(EVERY_RIGHT, everywhere=True)


@dataclass(frozen=True)
class Caller:
    """A client of API v1 with one key. Paths are below the server, or absolute."""

    key: str
    accept: str | None = "application/json"

    def __call__(
        self, method: str, path: str, body: Any = None, *, accept: str | None = "", content_type: str = "text/plain"
    ) -> HttpResponse:
        wanted = self.accept if accept == "" else accept
        headers = {"X-API-Key": self.key} if self.key else {}
        if wanted is not None:
            headers["Accept"] = wanted
        data = body if isinstance(body, str | bytes) else "" if body is None else json.dumps(body)
        url = path if path.startswith("/api") else SERVER + path
        answer: Any = Client().generic(method, url, data, content_type, headers=headers)
        return cast(HttpResponse, answer)

    def get(self, path: str, **options: Any) -> Any:
        """Send a GET request and return the JSON. Fail unless the status is 200."""
        found = self("GET", path, **options)
        assert found.status_code == 200, found.content
        return json.loads(found.content)

    def patch(self, zone: str, *rrsets: Mapping[str, Any]) -> HttpResponse:
        return self("PATCH", f"/zones/{zone}", {"rrsets": list(rrsets)})


MakeCaller = Callable[..., Caller]


def texts(answer: HttpResponse) -> str:
    """Return the error text in an answer."""
    found: str = json.loads(answer.content)["error"]
    return found


def replace(name: str, type: str, *contents: str, ttl: int = 300, **more: Any) -> dict[str, Any]:
    """Return an RRset for the body of a PATCH that replaces the records."""
    records = [{"content": content, "disabled": False} for content in contents]
    return {"name": name, "type": type, "ttl": ttl, "changetype": "REPLACE", "records": records, **more}


@pytest.fixture
def make_caller(alice: User) -> MakeCaller:
    """Return a function that creates a token with this scope and returns a client with it."""

    def make_caller(*scope: Grant, owner: User = alice, **terms: Any) -> Caller:
        found = TokenTerms("tests", scope or (EVERYTHING,), **terms)
        return Caller(create_token(owner=owner, terms=found, by=owner, now=timezone.now()).secret)

    return make_caller


@pytest.fixture
def call(make_caller: MakeCaller) -> Caller:
    """Return a client whose token has all rights."""
    return make_caller()


def rrset_of(call: Caller, zone: str, name: str, type: str) -> dict[str, Any] | None:
    """Return one RRset as the API shows it, or None if the zone doesn't have it."""
    found = call.get(f"/zones/{zone}")["rrsets"]
    return next((rrset for rrset in found if (rrset["name"], rrset["type"]) == (name, type)), None)


__all__ = ["Caller", "MakeCaller", "MakeZone", "Zone", "replace", "rrset_of", "texts"]
