"""Checks that a fault of a running stack is shown to an operator: by an alert, on a page and in a metric."""

import http.client
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psycopg
from prometheus_client.parser import text_string_to_metric_families

from dnspanel.demo.stack import Stack
from dnspanel.fleet.processes.process_roles import COLLECTOR
from tests.stack import make_person, run_inside

OPEN_ALERTS = "SELECT key FROM alerts_alert WHERE over_at IS NULL"


class Operator:
    """An operator with access to a stack's pages and metrics. A request that fails returns its error."""

    def __init__(self, stack: Stack) -> None:
        make_person(stack, "operator")
        self._address = urlsplit(stack.url).netloc
        self._database = stack.stores.database_url
        self._token, name, session = run_inside(stack, "named_faults.sign_in")
        self._cookie = f"{name}={session}"

    def page(self, path: str) -> str:
        """Return the status and the text of a page, such as `200 <!doctype…`, or the error."""
        return self._get(path, {"Cookie": self._cookie})

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return each sample by name and label values, or an empty dict while the panel does not answer."""
        text = self._get("/metrics", {"Authorization": f"Bearer {self._token}"})
        if not text.startswith("200 "):
            return {}
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text[4:])
            for sample in family.samples
        }

    def alerts(self) -> set[str]:
        """Return the keys of open alerts, or an empty set while PostgreSQL does not answer."""
        options: dict[str, Any] = {"connect_timeout": 3, "options": "-c statement_timeout=3000"}
        try:
            with psycopg.connect(self._database, autocommit=True, **options) as connection:
                return {key for (key,) in connection.execute(OPEN_ALERTS)}
        except psycopg.Error:
            return set()

    def _get(self, path: str, headers: Mapping[str, str]) -> str:
        connection = http.client.HTTPConnection(self._address, timeout=10)
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return f"{answer.status} {answer.read().decode(errors='replace')}"
        except (OSError, http.client.HTTPException) as exc:
            return f"{type(exc).__name__} {exc}"
        finally:
            connection.close()


@dataclass(slots=True)
class Named:
    """The seconds until each place reported a fault. Places that have not reported it are missing."""

    seconds: dict[str, float] = field(default_factory=dict)

    def look(self, began: float, places: Mapping[str, Callable[[], bool]]) -> bool:
        """Check once each place that has not reported the fault yet. Return True if all have."""
        for place, names in places.items():
            if place not in self.seconds and names():
                self.seconds[place] = time.monotonic() - began
        return self.seconds.keys() >= places.keys()


def wait_until_named(places: Mapping[str, Callable[[], bool]], *, seconds: float) -> Named:
    """Wait until all places report the fault that begins now, and return their times. Late places are missing."""
    found, began = Named(), time.monotonic()
    while not found.look(began, places) and time.monotonic() - began < seconds:
        time.sleep(0.5)
    return found


def works(operator: Operator, name: str) -> bool:
    """Return True if at least one process with this name is working, according to the metric."""
    return operator.metrics().get(("dnspanel_process_instances", name), 0) > 0


def key_of(name: str) -> str:
    """Return the key of the alert for the absence of working processes with this name."""
    return "panel.collector" if name == COLLECTOR else f"panel.process:{name}"


def places_of(operator: Operator, name: str) -> dict[str, Callable[[], bool]]:
    """Return checks, by place, that an operator is shown the absence of working processes with this name."""
    label = f'<span class="strong">{name}</span>'

    def page_names_it() -> bool:
        page = operator.page("/fleet/processes/")
        row = page.partition(label)[2].partition("</tr>")[0]
        return page.startswith("200 ") and "is-bad" in row

    return {
        "alert": lambda: key_of(name) in operator.alerts(),
        "page": page_names_it,
        "metric": lambda: operator.metrics().get(("dnspanel_process_instances", name)) == 0,
    }
