"""Django's backend for PostgreSQL, that may keep plans, and looks at a kept connection without asking the server.

In processes that `keep_plans`, what is prepared (`prepared_statements`) is planned without its parameters, so once for
a connection. PostgreSQL would go on planning it with them wherever that looks cheaper, as of each array of one member
(choose_custom_plan in its plancache.c): of an edit by API, planning was a third of what PostgreSQL computed. Workers do
not keep plans: of a push it saves nothing that can be measured. The publisher has a connection of its own, that does
(`publish.session`).

Django asks `SELECT 1` in every request before anything else. A server that ends a connection, stops or dies says so:
there is something to read on the socket then, and on a connection at rest there is nothing otherwise. What stands
between may forget a connection that nobody used for minutes, and says nothing: after a pause the server is asked.

PostgreSQL compiles a statement (`jit`, on by default) whose cost it estimates above a bound, and the estimates for the
many tables with few rows are far too high: one read of the nodes took 0.47 s, and an edit until all nodes answered
2 s in place of 0.4 s. No statement of the panel runs long enough to gain from it.
"""

import select
import time
from typing import Any

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

# A connection that was looked at so recently is not taken for forgotten; firewalls have patience for minutes.
FRESH_SECONDS = 20.0


_keeps_plans = False


def keep_plans() -> None:
    """Connections that this process makes from now on plan each prepared statement once, which a web process wants."""
    global _keeps_plans
    _keeps_plans = True


class DatabaseWrapper(base.DatabaseWrapper):
    """The same, apart from these."""

    _looked_at = -FRESH_SECONDS  # monotonic time

    def get_connection_params(self) -> dict[str, Any]:
        """Add to Django's parameters that statements are not compiled; who sets `jit` in PANEL_DATABASE decides."""
        params: dict[str, Any] = super().get_connection_params()
        return params | {"options": f"-c jit=off {params.get('options', '')}".rstrip()}

    def init_connection_state(self) -> None:
        """A new connection is as Django wants it, and as `keep_plans` does."""
        super().init_connection_state()
        if _keeps_plans:
            self.connection.execute("SET plan_cache_mode = force_generic_plan")
            if not self.get_autocommit():
                self.connection.commit()

    def is_usable(self) -> bool:
        """Whether statements can be sent on the connection; asks the server only if that is not certain."""
        now = time.monotonic()
        is_fresh, self._looked_at = now - self._looked_at < FRESH_SECONDS, now
        return (is_fresh and self._is_at_rest()) or super().is_usable()

    def _is_at_rest(self) -> bool:
        """Whether nothing is under way, and the server has said nothing since, not that it is gone either."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return self.connection.info.transaction_status == TransactionStatus.IDLE and not poll.poll(0)
