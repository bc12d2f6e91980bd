"""Time limits for statements, and the answers after a statement exceeded one.

Tests `dnspanel.environment` too.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection, connections
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.api.v1 import search as search_of_v1
from dnspanel.celery import limit_statements
from dnspanel.database import silence, statement_time
from dnspanel.database.base import open_with
from dnspanel.environment import envseconds
from dnspanel.web.zones import pages
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.rights import access
from tests.dnspanel.api.v1.calls import EVERYTHING, make_zone
from tests.dnspanel.api.v1.conftest import MakeCaller
from tests.dnspanel.api.v1.conftest import make_caller as make_caller
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.dnspanel.web.conftest import browser as browser
from tests.people import alice as alice
from tests.people import bob as bob

SECONDS = "read=30,search=5,write=600"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that starts a new connection as a process of this kind."""
    options = dict(connections.settings["default"]["OPTIONS"])
    monkeypatch.setattr(statement_time, "_process", statement_time.COMMAND)

    def begin(kind: str) -> None:
        statement_time.begin(kind)
        connection.close()

    yield begin
    silence.end()
    open_with(None)
    connections.settings["default"]["OPTIONS"] = options
    connection.close()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a search statement to 1 ms."""
    monkeypatch.setitem(settings.STATEMENT_SECONDS, "search", 0.001)


def limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])


def wait_long(*args: object, **how: object) -> Any:
    """Run a statement of 60 seconds, which a time limit ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(60)")


def wait_too_long(*args: object, **how: object) -> Any:
    """Run a statement that exceeds its time limit, in any kind of request."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 1")
        try:
            cursor.execute("SELECT pg_sleep(60)")
        finally:
            cursor.execute("RESET statement_timeout")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("read", "30s"), ("worker", "1h"), ("gateway", "30s"), ("collector", "30s"), ("command", "0")],
)
def test_a_process_opens_its_connections_with_its_limit(begin: Callable[[str], None], kind: str, expected: str) -> None:
    begin(kind)
    assert limit() == expected


def test_a_process_that_says_nothing_has_no_limit() -> None:
    """Migrations and restores may take long with much data."""
    assert limit() == "0"


@pytest.mark.usefixtures("begin")
def test_workers_say_what_they_are_before_they_start() -> None:
    limit_statements()
    connection.close()
    assert limit() == "1h"


def test_options_of_the_operator_stay(begin: Callable[[str], None]) -> None:
    mine = {**connections.settings["default"]["OPTIONS"], "options": "-c work_mem=5MB"}
    connections.settings["default"]["OPTIONS"] = mine
    begin("read")
    with connection.cursor() as cursor:
        cursor.execute("SHOW work_mem")
        assert cursor.fetchone() == ("5MB",)
    assert limit() == "30s"


def test_each_request_has_the_limit_of_its_kind_and_pays_for_a_change_only(begin: Callable[[str], None]) -> None:
    begin("read")
    during: list[str] = []
    middleware = statement_time.StatementTimeMiddleware(lambda request: during.append(limit()))
    paid = []
    for method in ("get", "post", "delete", "head", "get", "put"):
        with CaptureQueriesContext(connection) as statements:
            middleware(getattr(RequestFactory(), method)("/"))
        paid.append(len(statements) - 1)
    assert during == ["30s", "10min", "10min", "30s", "30s", "10min"]
    assert paid == [0, 1, 0, 1, 0, 1]


def test_a_connection_that_was_opened_anew_has_the_limit_of_its_request(begin: Callable[[str], None]) -> None:
    begin("read")
    during: list[str] = []
    middleware = statement_time.StatementTimeMiddleware(lambda request: during.append(limit()))
    for method in ("post", "post", "get"):
        middleware(getattr(RequestFactory(), method)("/"))
        connection.close()
    assert during == ["10min", "10min", "30s"]


def test_a_search_has_its_own_limit_until_it_ends(begin: Callable[[str], None]) -> None:
    begin("read")
    with statement_time.searching():
        assert limit() == "5s"
    assert limit() == "30s"


@pytest.mark.usefixtures("short")
def test_a_search_that_took_too_long_says_what_would_help() -> None:
    with pytest.raises(statement_time.SearchTooGeneral, match=r"took longer than 0\.001 s"), statement_time.searching():
        wait_long()
    assert limit() == "0"  # the connection remains


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), statement_time.searching():
        raise ZeroDivisionError
    assert not statement_time.was_ended(OperationalError("the server is away"))


def test_settings_name_kinds_and_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDS", "search=2.5, write=0")
    assert envseconds("SECONDS", SECONDS) == {"read": 30.0, "search": 2.5, "write": 0.0}
    for wrong in ("searches=1", "search", "search=x", "search=-1", "search=1e9", "search=nan"):
        monkeypatch.setenv("SECONDS", wrong)
        with pytest.raises(ImproperlyConfigured, match="SECONDS"):
            envseconds("SECONDS", SECONDS)


# Interfaces


@pytest.mark.usefixtures("short")
def test_a_search_on_a_page_is_422_in_its_list(browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "zone_page", wait_long)
    client = browser(bob)
    for headers in ({}, {**HTMX, "HX-Target": "zone-list"}):
        refused = client.get("/zones/", {"q": "example"}, headers=headers)
        assert refused.status_code == 422
        assert "The search took longer than" in refused.content.decode()
        assert ("<html" in refused.content.decode()) == (not headers)


@pytest.mark.usefixtures("short")
def test_a_filter_of_records_is_422(browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    make_zone("example.test.", "www A 192.0.2.1")
    monkeypatch.setattr(rrset_pages, "rrset_page", wait_long)
    client = browser(bob)
    page = client.get("/zones/example.test./", {"q": "www"})
    assert (page.status_code, "Search too broad" in page.content.decode()) == (422, True)
    fragment = client.get("/zones/example.test./", {"q": "www"}, headers=HTMX)
    assert (fragment.status_code, fragment["Content-Type"]) == (422, "text/plain; charset=utf-8")


def test_a_page_that_took_too_long_is_503(browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "statuses_of", wait_too_long)
    client: Client = browser(bob)
    page = client.get("/zones/")
    assert (page.status_code, page["Retry-After"], "Request timed out" in page.content.decode()) == (503, "10", True)
    fragment = client.get("/zones/", headers={**HTMX, "HX-Target": "zone-list"})
    assert (fragment.status_code, fragment["Content-Type"]) == (503, "text/plain; charset=utf-8")


@pytest.mark.usefixtures("short")
def test_a_search_of_api_v1_is_422_in_its_form(make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_of_v1, "_search_kinds", wait_long)
    refused = make_caller(EVERYTHING)("GET", "/search-data?q=example*")
    assert refused.status_code == 422
    assert json.loads(refused.content)["error"].startswith("The search took longer than")


def test_other_requests_of_api_v1_are_503(make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    call = make_caller(EVERYTHING)
    monkeypatch.setattr(access, "zone_alone", wait_too_long)
    busy = call("GET", "/zones/example.test.")
    assert (busy.status_code, busy["Retry-After"]) == (503, "10")
    assert json.loads(busy.content) == {"error": "The database took too long to respond."}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("path", "slow"),
    [
        ("/zones?q=example", "zones._filter_zones"),
        ("/search?q=example", "search.zones_fitting"),
        ("/zones/example.test./rrsets?q=www", "rrsets.last_compared"),
    ],
)
def test_a_search_of_api_v2_is_422_in_its_form(
    make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch, path: str, slow: str
) -> None:
    make_zone("example.test.", "www A 192.0.2.1")
    monkeypatch.setattr(f"dnspanel.api.v2.resources.{slow}", wait_long)
    refused = make_caller(EVERYTHING)("GET", f"/api/v2{path}")
    problem = json.loads(refused.content)
    assert (refused.status_code, problem["code"], problem["errors"][0]["parameter"]) == (422, "too-general", "q")


def test_other_requests_of_api_v2_are_503(make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    call = make_caller(EVERYTHING)
    monkeypatch.setattr(access, "zone_for_reading", wait_too_long)
    busy = call("GET", "/api/v2/zones/example.test.")
    assert (busy.status_code, busy["Retry-After"], json.loads(busy.content)["code"]) == (503, "10", "unavailable")
