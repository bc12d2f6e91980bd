"""Fixtures of the tests of pages: the cast, each with a browser of their own."""

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
YES = {"confirmed": "yes"}  # to the question that some acts ask first

__all__ = ["HTMX", "YES", "Browser", "MakeZone"]


class FoldingClient(Client):
    """Reads HTML as a browser shows it, white space folded: tests need not know how a template is set."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        if not response.streaming and response.headers.get("Content-Type", "").startswith("text/html"):
            response.content = folded(response.content.decode()).encode()
        return response

    def _login(self, user: User, backend: str | None = None) -> None:
        """Sign in without the empty session that Django's client first saves, loads and deletes."""
        if settings.SESSION_COOKIE_NAME in self.cookies:
            super()._login(user, backend)  # type: ignore[misc]
            return
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore()
        login(request, user, backend)
        request.session.save()
        self._set_login_cookies(request)  # type: ignore[attr-defined]


def forget_password(client: Client) -> None:
    """Forget the password, as if the person had signed in long ago."""
    session = client.session
    session["password-at"] = 0
    session.save()


@pytest.fixture
def browser() -> Browser:
    """Return a function that makes a client in which this person is signed in (by default Dora); it checks
    CSRF only when asked to.
    """

    def make(user: User | AnonymousUser | None = None, *, csrf: bool = False) -> Client:
        client = FoldingClient(enforce_csrf_checks=csrf)
        if isinstance(user, User):
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
