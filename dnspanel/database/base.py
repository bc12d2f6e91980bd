"""Django's backend for PostgreSQL, with optional plan caching and a check of idle connections without a query.

In processes that call `keep_plans`, PostgreSQL plans a prepared statement (`prepared_statements`) without its
parameters, and therefore only once per connection. Otherwise, PostgreSQL plans with the parameters if that seems
cheaper, as for an array with one member (choose_custom_plan in its plancache.c). For an edit by API, planning took a
third of PostgreSQL's computing time. Workers don't cache plans, because this saves nothing measurable for a push. The
publisher has its own connection, which caches plans (`publish.reading.publisher_session`).

By default, Django sends `SELECT 1` first in every request. This backend checks the socket instead: an idle connection
has bytes to read only if the server has closed it, stopped or crashed. A firewall can silently drop a connection that
is idle for minutes. After a pause, the backend therefore sends a query to the server.

A connection to a hanging server is closed (`database.silence`), and TCP closes a connection to an unreachable server.
If a connection is lost during a commit, the outcome is unknown, and a `CommitInDoubt` is raised.

Each connection has the name of its process in pg_stat_activity (`application_name`). A pooler like PgBouncer does not
pass the startup packet's options to PostgreSQL. With DATABASE_POOLER, the options are set by a statement instead.
"""

import select
import sys
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import InterfaceError, OperationalError, connections
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from dnspanel.database import silence

# A connection that was checked this recently is assumed to be open: firewalls drop idle connections after minutes.
FRESH_SECONDS = 20.0


# SQLSTATEs of a server that ends a connection. A commit in progress may have been done before.
_ENDED = ("08", "57P")

_keeps_plans = False
_process = ""
# The parameters of new connections, unless the connection string overrides them. None: those of a command.
_defaults: Mapping[str, Any] | None = None


class CommitInDoubt(OperationalError):
    """The connection was lost during a commit. It is unknown whether the transaction was committed or will be."""


def open_with(defaults: Mapping[str, Any] | None) -> None:
    """Set default parameters for new connections (None: a command's TCP limits). The settings take precedence."""
    global _defaults
    _defaults = defaults


def keep_plans() -> None:
    """Make new connections of this process plan prepared statements without parameters. Web processes call this."""
    global _keeps_plans
    _keeps_plans = True


def name_process(name: str) -> None:
    """Name this process in the `application_name` of new connections, for example `push`."""
    global _process
    _process = name


def application_name(purpose: str = "") -> str:
    """Return the `application_name`, such as `dnspanel-push-reader`. Unnamed processes are management commands."""
    command = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].isidentifier() else "command"
    return "-".join(filter(None, ("dnspanel", _process or command, purpose)))


def connect(parameters: Mapping[str, Any]) -> psycopg.Connection[Any]:
    """Open a connection that is closed if the server hangs. Through a pooler, set the options by a statement."""
    conn = silence.connect(**parameters)
    if settings.DATABASE_POOLER:
        options = connections.settings["default"]["OPTIONS"].get("options", "")
        limits = [each.partition("=") for each in options.split() if each != "-c"]
        calls = ", ".join(["set_config(%s, %s, false)"] * len(limits))
        conn.execute(f"SELECT {calls}", [text for name, _, value in limits for text in (name, value)])
        conn.commit()
    return conn


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a PostgreSQL connection, with the changes described in this module."""

    _looked_at = -FRESH_SECONDS  # monotonic time
    commits = 0  # of transactions; a single statement isn't counted, because no verb is one

    def get_connection_params(self) -> dict[str, Any]:
        """Return the connection parameters from the settings, and the process's defaults for missing ones."""
        parameters: dict[str, Any] = super().get_connection_params()
        if settings.DATABASE_POOLER:
            parameters.pop("options", None)
        defaults = silence.limits_of_tcp(settings.SILENCE_SECONDS["command"]) if _defaults is None else _defaults
        return {"application_name": application_name(), **defaults, **parameters}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open a connection that is closed if the server hangs. Ignore Django's isolation and cursor options."""
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connect(conn_params)

    def _commit(self) -> None:
        """Commit the transaction. Raise CommitInDoubt if the outcome is unknown."""
        was_open = self.connection is not None and not self.connection.closed
        begun = was_open and self.connection.info.transaction_status == TransactionStatus.INTRANS
        try:
            super()._commit()  # type: ignore[misc]  # the stubs lack it
        except (OperationalError, InterfaceError) as exc:
            state = getattr(exc.__cause__, "sqlstate", None)
            was_sent = was_open and not isinstance(exc.__cause__, silence.NotSent)
            if was_sent and (state is None or state.startswith(_ENDED)):
                self.commits += begun  # even if this commit raises an error, it may have been done
                raise CommitInDoubt(*exc.args) from exc.__cause__
            raise
        self.commits += begun

    def init_connection_state(self) -> None:
        """Set up a new connection for Django, and disable custom plans in processes that called `keep_plans`."""
        super().init_connection_state()
        if _keeps_plans:
            self.connection.execute("SET plan_cache_mode = force_generic_plan")
            if not self.get_autocommit():
                self.connection.commit()

    def is_usable(self) -> bool:
        """Return True if the connection can send statements. Query the server only if this is uncertain."""
        if silence.hangs():
            return False
        now = time.monotonic()
        is_fresh, self._looked_at = now - self._looked_at < FRESH_SECONDS, now
        return (is_fresh and self._is_at_rest()) or super().is_usable()

    def _is_at_rest(self) -> bool:
        """Return True if no statement is running and the server has sent nothing, not even a disconnect."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return self.connection.info.transaction_status == TransactionStatus.IDLE and not poll.poll(0)
