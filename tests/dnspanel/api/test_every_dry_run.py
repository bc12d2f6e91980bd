"""Tests that every write of API v2 to zones or records has a dry run, which leaves every table unchanged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module

from django.db import connection
from rest_framework.views import APIView

from dnspanel.api.v2.http.parameters import taken_by
from tests.dnspanel.api.callers import Caller
from tests.dnspanel.api.endpoints import ENDPOINTS, OPEN, Endpoint
from tests.dnspanel.api.test_every_url import Call
from tests.dnspanel.api.test_every_url import api as api
from tests.dnspanel.api.test_every_url import call as call
from tests.dnspanel.api.test_every_url import things as things
from tests.full import Sample
from tests.walks import walk

WRITES = [
    endpoint
    for endpoint in ENDPOINTS
    if endpoint.name.startswith("v2-")
    and endpoint.method != "GET"
    and endpoint.verdict != OPEN
    and endpoint.verdict[-1] == "+"
]
# The tables of zones. A publication is a row of the log.
OF_ZONES = {"zones_zone", "zones_rrset", "zones_publication", "zones_revision", "zones_change"}
# Operations that change these tables but have no dry run.
WITHOUT = {"POST v2-locks": "A lock keeps records as they are."}
# Written for every request with the token, whatever its result.
OF_REQUESTS = {"accounts_token"}


@cache
def views() -> dict[str, type[APIView]]:
    patterns = import_module("dnspanel.api.v2.urls").urlpatterns  # only now do the URLs have their converters
    return {pattern.name: pattern.callback.view_class for pattern in patterns}


def has_dry_run(endpoint: Endpoint) -> bool:
    view = views()[endpoint.name]()
    view.request, view.args, view.kwargs = None, (), {}  # as `dispatch` does
    taken = taken_by(view, endpoint.method)
    return taken is not None and "dry_run" in taken.parameters


def digests() -> dict[str, tuple[int, int]]:
    """Return the number of rows and a checksum of the rows, by table."""
    tables = connection.introspection.table_names()
    each = " UNION ALL ".join(
        f"SELECT '{name}', count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM \"{name}\" t"
        for name in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(each)
        return {name: (count, total) for name, count, total in cursor.fetchall()}


@contextmanager
def changed_tables(found: set[str]) -> Iterator[None]:
    """Add the names of the tables that the block changes to `found`."""
    before = digests()
    yield
    found |= {name for name, digest in digests().items() if digest != before[name]} - OF_REQUESTS


def written_by(endpoint: Endpoint, call: Call) -> tuple[int, set[str]]:
    found: set[str] = set()
    status = call(endpoint, Caller.ADMINISTRATOR, around=changed_tables(found))
    return status, found


def test_what_changes_zones_has_a_dry_run_which_writes_nothing(call: Call, sample: Sample) -> None:
    with walk() as step:
        for endpoint in sample.turn(WRITES, 45, reason="writes of API v2, with and without a dry run"):
            with step(endpoint):
                status, written = written_by(endpoint, call)
                assert status < 400
                if not has_dry_run(endpoint):
                    assert not written & OF_ZONES or str(endpoint) in WITHOUT
                    continue
                status, written = written_by(replace(endpoint, query={**endpoint.query, "dry_run": "true"}), call)
                assert (status, written) == (200, set())
