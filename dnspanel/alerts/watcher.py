"""Check for alerts and send them without a broker, so that alerts work even without Redis and workers.

The watcher runs in the collector's process. Celery's beat also starts checks, which detect a dead collector. If two
checks happen at the same time, the second does nothing.

Alerts are rows, so they can't be raised while PostgreSQL is unavailable. Only the alert about PostgreSQL is sent
without a row, to the routes that were active before. It becomes a row when PostgreSQL is available again.
"""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.utils import timezone

from dnspanel.alerts import deliver_alerts, watch
from dnspanel.alerts.models import Route
from dnspanel.conditions import Condition, Severity
from dnspanel.database.database_away import reason_of
from dnspanel.texts import duration_text, gettext

# Longer than a restart of PostgreSQL takes.
AWAY_FOR = timedelta(seconds=15)
# Receivers can be slow, so they have threads of their own.
_SENDERS = 3

logger = logging.getLogger(__name__)


class Watcher:
    """A loop that checks for alerts and sends them, including the alert about PostgreSQL while it is unavailable."""

    def __init__(self) -> None:
        self._senders = ThreadPoolExecutor(_SENDERS, thread_name_prefix="tell")
        self._telling: dict[int, Future[None]] = {}
        self._routes: list[Route] = []
        self._away_since: datetime | None = None
        self._knowing: set[int] = set()  # the routes that accepted the alert about the outage

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(watch.LOOK_EVERY.total_seconds()):
            self.step()
        self._senders.shutdown(wait=True, cancel_futures=True)
        connection.close()

    def step(self) -> None:
        """Check once, and start a sender for every route that has due messages and no running sender.

        If PostgreSQL is unavailable, only send the alert about the outage. Log unexpected errors.
        """
        try:
            close_old_connections()
            outage = self._outage(timezone.now())
            if watch.look(now=timezone.now(), also=outage) is not None or not outage:
                self._away_since, self._knowing = None, set()
            self._routes = list(Route.objects.filter(active=True))
            for route_id in deliver_alerts.routes_with_due(now=timezone.now()):
                if route_id not in self._telling or self._telling[route_id].done():
                    self._telling[route_id] = self._senders.submit(_tell, route_id)
        except (DatabaseError, InterfaceError) as exc:
            if self._away_since is None:
                self._away_since = timezone.now()
                logger.warning("nobody watches, PostgreSQL does not answer: %s", reason_of(exc))
            self._tell_outage(timezone.now())
        except Exception:  # an error in one check must not end all later checks
            logger.exception("a look ended unexpectedly")

    def _outage(self, now: datetime) -> list[Condition]:
        """Return a condition for PostgreSQL's current or just ended outage, or [] if it is shorter than AWAY_FOR."""
        since = self._away_since
        if since is None or now - since < AWAY_FOR:
            return []
        message = gettext("PostgreSQL hasn’t responded for {time}, so the panel can’t show or change data.").format(
            time=duration_text(now - since)
        )
        return [Condition("panel.postgresql", "panel.postgresql", Severity.CRITICAL, message)]

    def _tell_outage(self, now: datetime) -> None:
        """Send the alert about the outage to every known route that hasn't accepted it yet."""
        for condition in self._outage(now):
            for route in self._routes:
                is_free = route.pk not in self._telling or self._telling[route.pk].done()
                if route.pk not in self._knowing and is_free:
                    told = self._senders.submit(self._tell_at_once, route, condition, self._away_since or now)
                    self._telling[route.pk] = told

    def _tell_at_once(self, route: Route, condition: Condition, since: datetime) -> None:
        try:
            if deliver_alerts.tell_at_once(route=route, condition=condition, since=since, now=timezone.now()):
                self._knowing.add(route.pk)
        except Exception:
            logger.exception("telling route %s of PostgreSQL ended unexpectedly", route.pk)


def _tell(route_id: int) -> None:
    try:
        deliver_alerts.deliver_all(route_id=route_id, clock=timezone.now)
    except (DatabaseError, InterfaceError) as exc:
        logger.warning("route %s was not told, PostgreSQL does not answer: %s", route_id, reason_of(exc))
    except Exception:
        logger.exception("telling route %s ended unexpectedly", route_id)
    finally:
        connection.close()  # the next message may use another thread, hours later
