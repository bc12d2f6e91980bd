"""Fixtures of the API's tests: a client for every kind of caller, and things to ask about."""

import pytest

from dnspanel.zones.models import Zone
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
    """Makes a client that calls as this kind of caller (by default the administrator, whose token may everything).

    Every answer of API v2 is held against the OpenAPI document.
    """
    known: dict[Caller, Api] = {}

    def make(caller: Caller | str = Caller.ADMINISTRATOR) -> Api:
        caller = Caller[caller.upper()] if caller not in set(Caller) else Caller(caller)
        if caller not in known:
            zone = Zone.objects.filter(name=ZONE, deleted_at=None).first()
            known[caller] = api_of(caller, zone_id=zone.pk if zone else 1)
        return known[caller]

    return make
