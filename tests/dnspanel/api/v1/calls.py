"""Helpers for tests of API v1: a client with a key, and zones for the requests."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.test import Client

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdata
from replication.dns.rrset import RRset, make
from tests.people import NOW

SERVER = "/api/v1/servers/localhost"
# An editor's rights. Private keys are for administrators only.
EVERYTHING = Grant(EVERY_RIGHT, everywhere=True)


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of API v1 with one key that asks for JSON."""

    key: str
    token: Token | None = None

    def __call__(self, method: str, path: str, body: Any = None, *, accept: str = "application/json") -> HttpResponse:
        """Return the answer to a request. Paths are below `/api/v1/servers/localhost` or begin with `/api`."""
        headers = {"Accept": accept, **({"X-API-Key": self.key} if self.key else {})}
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        url = path if path.startswith("/api") else SERVER + path
        return Client().generic(method, url, content, content_type="application/json", headers=headers)

    def value(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Send a request and return the JSON of the answer, or None if it is empty. Fail if the status differs."""
        response = self(method, path, body)
        assert response.status_code == status, (response.status_code, response.content)
        return json.loads(response.content) if response.content else None

    def error(self, method: str, path: str, body: Any = None, *, status: int = 422) -> str:
        """Send a request and return the error text of the answer, which must have this status."""
        return str(self.value(method, path, body, status=status)["error"])


def caller(
    owner: User, *grants: Grant, permissions: Collection[Permission] = (), name: str = "test", **terms: Any
) -> Caller:
    """Return a client with a new token of this owner. Without grants, the token has all rights over all zones."""
    scope = grants or (EVERYTHING,)
    made = create_token(owner=owner, terms=TokenTerms(name, scope, frozenset(permissions), **terms), by=owner, now=NOW)
    return Caller(made.secret, made.token)


def make_zone(name: str, *records: str, author: User | None = None) -> Zone:
    """Create a zone with RRsets in the form "www A 192.0.2.1 192.0.2.2". Names are relative to the zone."""
    edit.create_zone(
        zone=edit.NewZone(name, [_rrset(name, record) for record in records]), acting=Acting(author, Channel.API, NOW)
    )
    return Zone.objects.get(name=name, deleted_at=None)


def _rrset(zone: str, record: str) -> RRset:
    owner, type_, *texts = record.split(" ")
    type_number = rdata.type_from_text(type_)
    name = zone if owner == "@" else f"{owner}.{zone}"
    return make(name, type_number, 300, [rdata.parse(type_number, text) for text in texts])
