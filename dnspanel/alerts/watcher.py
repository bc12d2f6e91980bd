"""The watch without a broker: looks and tells by itself, so that a dead Redis or worker does not silence alerts.

It runs inside the collector's process. Celery's beat looks too, so that a dead collector is noticed; whoever comes
second finds the look taken.
"""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from dnspanel.alerts import deliver, watch

# Receivers may be slow; a look waits for none of them.
_SENDERS = 3

logger = logging.getLogger(__name__)


class Watcher:
    """Looks every few seconds until told to stop."""

    def __init__(self) -> None:
        self._senders = ThreadPoolExecutor(_SENDERS, thread_name_prefix="tell")
        self._telling: dict[int, Future[None]] = {}
        self._was_away = False

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(watch.LOOK_EVERY.total_seconds()):
            self.step()
        self._senders.shutdown(wait=True, cancel_futures=True)
        connection.close()

    def step(self) -> None:
        """One look, and a sender for every route that has something to tell and none yet."""
        try:
            close_old_connections()
            watch.look(now=timezone.now())
            for route_id in deliver.routes_with_due(now=timezone.now()):
                if route_id not in self._telling or self._telling[route_id].done():
                    self._telling[route_id] = self._senders.submit(_tell, route_id)
        except DatabaseError as exc:
            if not self._was_away:
                logger.warning("nobody watches, PostgreSQL does not answer: %s", exc)
            self._was_away = True
        except Exception:  # a fault of ours in one look must not be the end of all of them
            logger.exception("a look ended unexpectedly")
        else:
            self._was_away = False


def _tell(route_id: int) -> None:
    try:
        deliver.deliver_all(route_id=route_id, clock=timezone.now)
    except DatabaseError as exc:
        logger.warning("route %s was not told, PostgreSQL does not answer: %s", route_id, exc)
    except Exception:
        logger.exception("telling route %s ended unexpectedly", route_id)
    finally:
        connection.close()  # the next one may run in another thread, hours later
