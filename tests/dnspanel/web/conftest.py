"""Fixtures for tests of pages: the users, each with a separate browser."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.test import Client

from dnspanel.accounts.models import User
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.fleet.conftest import live_redis as live_redis
from tests.dnspanel.fleet.conftest import waiting_node as waiting_node
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.markup import folded
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.people import dora as dora

Browser = Callable[..., Client]
HTMX = {"HX-Request": "true"}
YES = {"confirmed": "yes"}  # the answer to the confirmation of some actions

__all__ = ["HTMX", "YES", "Browser", "MakeZone"]


class FoldingClient(Client):
    """A client that collapses white space in HTML as a browser does, so tests don't depend on template formatting."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        if not response.streaming and response.headers.get("Content-Type", "").startswith("text/html"):
            response.content = folded(response.content.decode()).encode()
        return response

    def _login(self, user: User, backend: str | None = None) -> None:
        """Sign in without the empty session that Django's client saves, loads and deletes first."""
        if settings.SESSION_COOKIE_NAME in self.cookies:
            super()._login(user, backend)  # type: ignore[misc]
            return
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore()
        login(request, user, backend)
        request.session.save()
        self._set_login_cookies(request)  # type: ignore[attr-defined]


def forget_password(client: Client) -> Client:
    """Make the session look as if its password had been entered long ago. Return the client."""
    session = client.session
    session["password-at"] = 0
    session.save()
    return client


@pytest.fixture
def browser() -> Browser:
    """Return a function that creates a client signed in as a user (default: Dora). CSRF checks are off by default."""

    def make(user: User | AnonymousUser | None = None, *, csrf: bool = False) -> Client:
        client = FoldingClient(enforce_csrf_checks=csrf)
        if isinstance(user, User):
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
