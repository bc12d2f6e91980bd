"""Fixtures and settings for all tests: a database, unhashed static files, fast password hashes and a `stack`."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack

import _pytest.runner
import pytest
from django.conf import settings
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from replication.call_room import with_room
from replication.garbage import leave_out_what_is_loaded
from tests import database
from tests.lanes import unit_of
from tests.stack import fresh_stack, stack, stop_shared_stacks

__all__ = ["fresh_stack", "stack"]

# The time of an example depends mostly on other programs on the machine.
hypothesis_settings.register_profile("panel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("panel")


# As in production. Otherwise pytest's plugins would change the depth of the calls.
_pytest.runner.runtestprotocol = with_room(_pytest.runner.runtestprotocol)


def pytest_configure(config: pytest.Config) -> None:
    # Static files are not collected here, and a slow password hash would only cost time.
    settings.WHITENOISE_AUTOREFRESH = True
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    TransactionTestCase._fixture_setup = classmethod(lambda case: database.session.open())
    TransactionTestCase._fixture_teardown = lambda test: database.put_back()
    TransactionTestCase._should_reload_connections = lambda test: False


def pytest_collection_finish() -> None:
    """Run the garbage collector as rarely as the panel does, and exclude the objects that exist now."""
    leave_out_what_is_loaded()


def pytest_prepared() -> None:
    """Also exclude a file's module and tests, with everything they imported, from garbage collection."""
    leave_out_what_is_loaded()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    yield
    if nextitem is not None and unit_of(nextitem.nodeid) != unit_of(item.nodeid):
        stop_shared_stacks()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Replace pytest-django's fixture: use a copy of a template database, which is migrated once, not by every process.

    A test that does not request the database cannot use it. Otherwise its rows would stay for all later tests.
    """
    with ExitStack() as made:
        with django_db_blocker.unblock():
            made.enter_context(database.test_database())
        yield
        with django_db_blocker.unblock():
            made.close()
