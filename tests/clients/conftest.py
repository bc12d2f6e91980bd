"""Fixtures for client tests, among them the services that each client is tested with."""

from collections.abc import Generator, Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.clients.packages import Unreachable
from tests.clients.services import Service, panel_service, real_server
from tests.stack import make_person


@pytest.fixture(scope="session")
def _real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with real_server(tmp_path_factory.mktemp("pdns")) as service:
        yield service


@pytest.fixture(scope="session")
def _panel(stack: Stack) -> Service:
    make_person(stack, "automation")
    return panel_service(stack, owner="automation")


@pytest.fixture(params=["pdns_server", "panel"])
def service(request: pytest.FixtureRequest) -> Service:
    """Return each service in turn: the real server, which shows that the test is correct, and the panel."""
    found: Service = request.getfixturevalue("_real_server" if request.param == "pdns_server" else "_panel")
    return found


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    return (yield from _skipped_where_unreachable())


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    return (yield from _skipped_where_unreachable())


def _skipped_where_unreachable() -> Generator[None, object, object]:
    """Skip the test if a package registry is unreachable, because then there is no client to test."""
    try:
        return (yield)
    except Unreachable as exc:
        pytest.skip(str(exc))
