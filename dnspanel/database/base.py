"""Django's backend for PostgreSQL. It can cache plans, and checks an idle connection without asking the server.

In processes that call `keep_plans`, a prepared statement (`prepared_statements`) is planned without its parameters, so
only once per connection. PostgreSQL would otherwise plan with the parameters if that looks cheaper, as for an array
with one member (choose_custom_plan in its plancache.c). For an edit by API, planning was a third of PostgreSQL's
computing time. Workers do not cache plans, because for a push this saves nothing measurable. The publisher has its own
connection, which caches plans (`publish.reading.publisher_session`).

Django sends `SELECT 1` first in every request. This backend looks at the socket instead: an idle connection has bytes
to read only if the server has ended it, stopped or died. A firewall in between can silently drop a connection that was
unused for minutes, so after a pause the server is asked.

A connection to a server that hangs is given up (`database.silence`), and TCP gives up an unreachable server. If the
connection is lost during a commit, the outcome is unknown, and the error is a `CommitInDoubt`.
"""

import select
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from dnspanel.database import silence

# A connection that was checked this recently is assumed to be open: firewalls drop idle connections after minutes.
FRESH_SECONDS = 20.0


# SQLSTATEs of a server that ends a connection. A commit in progress may have been done before.
_ENDED = ("08", "57P")

_keeps_plans = False
# The parameters of new connections, unless the connection string overrides them. None: those of a command.
_defaults: Mapping[str, Any] | None = None


class CommitInDoubt(OperationalError):
    """The connection was lost during a commit. It is unknown whether the transaction was committed or will be."""


def open_with(defaults: Mapping[str, Any] | None) -> None:
    """Set default parameters for new connections (None: TCP limits). Explicit settings take precedence."""
    global _defaults
    _defaults = defaults


def keep_plans() -> None:
    """Make new connections of this process plan each prepared statement only once. Web processes use this."""
    global _keeps_plans
    _keeps_plans = True


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a PostgreSQL connection, with the changes described in this module."""

    _looked_at = -FRESH_SECONDS  # monotonic time
    commits = 0  # of transactions; a single statement isn't counted, because no verb is one

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters from the settings, completed with the process's defaults."""
        parameters: dict[str, Any] = super().get_connection_params()
        defaults = silence.limits_of_tcp(settings.SILENCE_SECONDS["command"]) if _defaults is None else _defaults
        return {**defaults, **parameters}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open a connection that is closed if the server hangs. Ignore Django's options for isolation and cursors."""
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return silence.connect(**conn_params)

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
                self.commits += begun  # whatever error this commit raises, it may have been done
                raise CommitInDoubt(*exc.args) from exc.__cause__
            raise
        self.commits += begun

    def init_connection_state(self) -> None:
        """Set up a new connection as Django and `keep_plans` require."""
        super().init_connection_state()
        if _keeps_plans:
            self.connection.execute("SET plan_cache_mode = force_generic_plan")
            if not self.get_autocommit():
                self.connection.commit()

    def is_usable(self) -> bool:
        """Return True if statements can be sent on the connection. Ask the server only if that is not certain."""
        if silence.hangs():
            return False
        now = time.monotonic()
        is_fresh, self._looked_at = now - self._looked_at < FRESH_SECONDS, now
        return (is_fresh and self._is_at_rest()) or super().is_usable()

    def _is_at_rest(self) -> bool:
        """Return True if no statement is running and the server has sent nothing, such as a disconnect."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return self.connection.info.transaction_status == TransactionStatus.IDLE and not poll.poll(0)
