"""Django's backend for PostgreSQL, that looks whether a kept connection still works without asking the server.

Django asks `SELECT 1` in every request before anything else. A server that ends a connection, stops or dies says so:
there is something to read on the socket then, and on a connection at rest there is nothing otherwise.
"""

import select

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class DatabaseWrapper(base.DatabaseWrapper):
    """The same, apart from that."""

    def is_usable(self) -> bool:
        """Whether statements can be sent on the connection; asks the server only if that is not certain."""
        return self._is_at_rest() or super().is_usable()

    def _is_at_rest(self) -> bool:
        """Whether nothing is under way, and the server has said nothing since, not that it is gone either."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return self.connection.info.transaction_status == TransactionStatus.IDLE and not poll.poll(0)
