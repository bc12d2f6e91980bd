"""Callers for tests of the APIs: every kind of caller, by name."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, PERMISSIONS, Grant, Permission, Right
from dnspanel.accounts.models import Role, Token, User
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.rights import grant_edit, own_roles
from dnspanel.accounts.tokens import presets, service_accounts, tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.dnspanel.api.described import ROOT, check_answer
from tests.people import PASSWORD, make_person
from tests.second_factors import set_up

ZONE = "example.test."
EVERYTHING = Grant(EVERY_RIGHT, everywhere=True)
READING = Grant(frozenset({Right.READ}), everywhere=True)
JSON = "application/json"


class Caller(StrEnum):
    """A kind of caller. The value is its name in tests and tables."""

    NOBODY = "no token"
    HALF_SIGNED_IN = "an administrator's browser, before the second factor"
    SIGNED_IN = "an administrator's browser"  # sessions are for pages only
    BAD = "a token that there is not"
    REVOKED = "a revoked token"
    EXPIRED = "an expired token"
    ELSEWHERE = "a token of another network"
    ROTATED = "a token that was rotated, without overlap"
    DESCENDANT = "made by an earlier form of a rotated and revoked token"
    LEAVER = "an administrator's whose account is closed"
    READER = "a reader's"  # can see all zones and nodes
    OTHER_TEAM = "another team's"  # a member who edits a team's zones, but not ZONE
    ACME = "ACME for one name"  # _acme-challenge.www in ZONE
    CI = "CI for one zone"  # ZONE, with a rotated token
    MONITORING = "read-only monitoring"  # an administrator's, but only for reading
    EDITOR = "an editor's"
    ADMINISTRATOR = "an administrator's"  # every right
    AUDITOR = "an auditor's"  # a custom role: sees zones and reads the audit log
    SERVICE = "a service account's"  # an editor account without sign-in
    APPROVER = "another administrator's"  # requested nothing, and owns nothing


# Callers that the access check stops.
STRANGERS = (
    Caller.NOBODY,
    Caller.HALF_SIGNED_IN,
    Caller.SIGNED_IN,
    Caller.BAD,
    Caller.REVOKED,
    Caller.EXPIRED,
    Caller.ELSEWHERE,
    Caller.ROTATED,
    Caller.DESCENDANT,
    Caller.LEAVER,
)


@dataclass(frozen=True)
class Api:
    """A client with one token that checks each answer of API v2 against the OpenAPI document."""

    secret: str = ""
    address: str = "192.0.2.10"
    session: str = ""

    def send(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        content_type: str = JSON,
        **query: Any,
    ) -> Any:
        """Send a request. `body` is sent unchanged if it is bytes, and otherwise as JSON."""
        if query:
            url += ("&" if "?" in url else "?") + urlencode(query, doseq=True)
        sent = dict(headers or {})
        if self.secret:
            sent.setdefault("Authorization", f"Bearer {self.secret}")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        client = Client(raise_request_exception=False)
        if self.session:
            client.cookies["sessionid"] = self.session
        response: HttpResponse = client.generic(
            method, url, data, content_type if data else "", headers=sent, REMOTE_ADDR=self.address
        )
        assert response.status_code != 500, f"{method} {url} broke: {response.content[:500]!r}"
        if url.startswith(ROOT):
            check_answer(method, url, response)
        return response

    def get(self, url: str, **more: Any) -> Any:
        return self.send("GET", url, **more)

    def post(self, url: str, body: Any = None, **more: Any) -> Any:
        return self.send("POST", url, body, **more)

    def put(self, url: str, body: Any = None, **more: Any) -> Any:
        return self.send("PUT", url, body, **more)

    def patch(self, url: str, body: Any = None, **more: Any) -> Any:
        return self.send("PATCH", url, body, **more)

    def delete(self, url: str, **more: Any) -> Any:
        return self.send("DELETE", url, **more)


def api_of(caller: Caller, *, zone_id: int = 0) -> Api:
    """Return a client for this caller, with a token or a browser session."""
    return Api(secret_of(caller, zone_id=zone_id), session=_session_of(caller))


def _session_of(caller: Caller) -> str:
    if caller not in {Caller.HALF_SIGNED_IN, Caller.SIGNED_IN}:
        return ""
    client, person = Client(), _person("ada", Role.ADMINISTRATOR)
    if caller is Caller.SIGNED_IN:
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    else:
        set_up(person, timezone.now())
        client.post("/sign-in/", {"login": person.username, "password": PASSWORD})
        assert "account_login" in client.session
    return client.cookies["sessionid"].value


def secret_of(caller: Caller, *, zone_id: int = 0, now: datetime | None = None) -> str:
    """Create and return a token for this kind of caller, and its owner if needed. `zone_id` is the id of ZONE."""
    now = now or timezone.now()
    if caller in {Caller.NOBODY, Caller.HALF_SIGNED_IN, Caller.SIGNED_IN}:
        return ""
    if caller is Caller.BAD:
        return tokens.SECRET_START + "x" * 43
    owner, terms = _terms(caller, zone_id, now)
    new = tokens.create_token(owner=owner, terms=terms, by=owner, now=now)
    if caller is Caller.CI:  # the former token, with the same rights as its successor
        new = tokens.rotate_token(token=new.token, by=owner, now=now)
    if caller is Caller.REVOKED:
        tokens.revoke_token(token=new.token, by=owner, now=now)
    if caller is Caller.LEAVER:
        people.deactivate(user=owner, by=None, now=now)
    if caller is Caller.EXPIRED:
        Token.objects.filter(pk=new.token.pk).update(expires_at=now - timedelta(seconds=1))
    if caller is Caller.ROTATED:
        tokens.rotate_token(token=new.token, by=owner, now=now, overlap=timedelta())
    if caller is Caller.DESCENDANT:
        maker = tokens.actor_by_secret(secret=new.secret, address="192.0.2.10", now=now)
        made = tokens.create_token(owner=owner, terms=terms, by=maker, now=now)
        successor = tokens.rotate_token(token=new.token, by=owner, now=now)
        tokens.revoke_token(token=successor.token, by=owner, now=now)
        return made.secret
    return new.secret


def _terms(  # noqa: C901  # one case for each caller
    caller: Caller, zone_id: int, now: datetime
) -> tuple[User, TokenTerms]:
    alice = _person("alice", Role.ADMINISTRATOR)
    everything = TokenTerms("everything", (Grant(frozenset(Right), everywhere=True),), frozenset(Permission))
    match caller:
        case Caller.ADMINISTRATOR | Caller.REVOKED | Caller.EXPIRED | Caller.ROTATED | Caller.DESCENDANT:
            return alice, everything
        case Caller.ELSEWHERE:
            return alice, TokenTerms("everything", (EVERYTHING,), frozenset(Permission), networks=("203.0.113.0/24",))
        case Caller.EDITOR:
            return _person("bob", Role.EDITOR), TokenTerms("editing", (EVERYTHING,), PERMISSIONS[Role.EDITOR])
        case Caller.LEAVER | Caller.APPROVER:
            name = "lea" if caller is Caller.LEAVER else "adam"
            return _person(name, Role.ADMINISTRATOR), everything
        case Caller.AUDITOR:
            return _auditor(alice, now), TokenTerms("audit", (READING,), frozenset({Permission.READ, Permission.AUDIT}))
        case Caller.SERVICE:
            return _service(alice, now), TokenTerms("automation", (EVERYTHING,), PERMISSIONS[Role.EDITOR])
        case Caller.READER:
            return _person("charlie", Role.READER), TokenTerms("reading", (READING,), PERMISSIONS[Role.READER])
        case Caller.OTHER_TEAM:
            return _other_team(alice, now), TokenTerms("the other team", (EVERYTHING,))
        case Caller.ACME:
            return alice, presets.acme_terms(zone_id=zone_id, name=f"www.{ZONE}", now=now)
        case Caller.CI:
            return alice, presets.ci_terms(zone_id=zone_id, zone_name=ZONE, now=now)
        case _:
            return alice, presets.monitoring_terms(now=now)


def _other_team(alice: User, now: datetime) -> User:
    member = _person("mallory", Role.MEMBER)
    if not member.memberships.exists():
        team = teams.create_team(name="Other", by=alice, now=now)
        teams.set_member(team=team, user=member, role="editor", by=alice, now=now)
        grant_edit.give_grant(grant=Grant(EVERY_RIGHT, tags=frozenset({"other"})), to=team, by=alice, now=now)
    return member


def _auditor(alice: User, now: datetime) -> User:
    person = _person("olga", Role.MEMBER)
    if person.own_role is None:
        powers = {"permissions": [Permission.READ, Permission.AUDIT], "rights": [Right.READ]}
        role = own_roles.create_role(name="Audit", **powers, by=alice, now=now)
        User.objects.filter(pk=person.pk).update(own_role=role)
        person.own_role = role
    return person


def _service(alice: User, now: datetime) -> User:
    found = User.objects.filter(username="robot").first()
    return found or service_accounts.create_service_account(name="robot", role=Role.EDITOR, by=alice, now=now)


def _person(name: str, role: str) -> User:
    return User.objects.filter(username=name).first() or make_person(name, role)


MakeApi = Callable[..., Api]
