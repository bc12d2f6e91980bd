"""Fixtures of the API tests: a client for every kind of caller, and objects for the requests."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dnspanel.zones.models import Zone
from tests.dnspanel.api import recording
from tests.dnspanel.api.callers import Api, Caller, MakeApi, api_of
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.fleet.conftest import live_redis as live_redis
from tests.dnspanel.fleet.conftest import waiting_node as waiting_node
from tests.dnspanel.zones.conftest import ZONE
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

__all__ = ["Api", "Caller", "MakeApi"]


@pytest.fixture
def api(db: None) -> MakeApi:
    """Return a function that creates a client for a kind of caller.

    The default is the administrator, whose token has every right. The client checks every answer of API v2 against the
    OpenAPI document.
    """
    known: dict[Caller, Api] = {}

    def make(caller: Caller | str = Caller.ADMINISTRATOR) -> Api:
        caller = Caller[caller.upper()] if caller not in set(Caller) else Caller(caller)
        if caller not in known:
            zone = Zone.objects.filter(name=ZONE, deleted_at=None).first()
            known[caller] = api_of(caller, zone_id=zone.pk if zone else 1)
        return known[caller]

    return make


@pytest.fixture(scope="session", autouse=recording.IS_RECORDING)
def recorder() -> Iterator[None]:
    """Record the requests and answers of all tests, as candidates for examples in the OpenAPI document."""
    send = Client.generic

    def generic(client: Client, method: str, path: str, data: Any = b"", *args: Any, **more: Any) -> Any:
        response = send(client, method, path, data, *args, **more)
        if path.startswith(("/api/v2/", "http://testserver/api/v2/")):
            plain, _, query = path.removeprefix("http://testserver").partition("?")
            recording.note(method, plain, query, data if isinstance(data, bytes) else data.encode(), response)
        return response

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Client, "generic", generic)
        yield
    recording.write()
