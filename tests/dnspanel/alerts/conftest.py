"""Fixtures of the alert tests: nodes, people, a real receiver of webhooks and a real mail server."""

from collections.abc import Callable
from typing import Any

import pytest

from dnspanel.alerts import routes
from dnspanel.alerts.routes import NewRoute, RouteTerms
from tests.dnspanel.fleet.conftest import active_node, live_redis, waiting_node
from tests.dnspanel.webhooks.conftest import at_home, mail_server, receiver
from tests.dnspanel.webhooks.receiver import resolve_to
from tests.people import NOW, alice, bob, charlie, dora

__all__ = [
    "active_node",
    "alice",
    "at_home",
    "bob",
    "charlie",
    "dora",
    "live_redis",
    "mail_server",
    "receiver",
    "waiting_node",
]

MakeRoute = Callable[..., NewRoute]


@pytest.fixture
def route(db: None) -> MakeRoute:
    """Return a function that creates alert routes, by default a webhook to this machine."""

    def make(
        name: str = "on call", kind: str = "webhook", address: str = "https://hooks.test/", **terms: Any
    ) -> NewRoute:
        return routes.create_route(
            terms=RouteTerms(name=name, kind=kind, address=address, **terms),
            by=None,
            now=NOW,
            resolve=resolve_to("9.9.9.9"),
        )

    return make
