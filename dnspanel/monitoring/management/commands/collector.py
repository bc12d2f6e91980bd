"""The process that collects the nodes' live numbers, and watches them: both have to go on without a broker."""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from dnspanel import checks, statement_time
from dnspanel.alerts.watcher import Watcher
from dnspanel.fleet.collector import Collector


class Command(BaseCommand):
    help = "Asks every node for its numbers once a second, keeps the last hour and raises alerts, until it is stopped."
    requires_system_checks = [checks.OWN]

    def handle(self, *args: Any, **options: Any) -> None:
        statement_time.begin(statement_time.COLLECTOR)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        watching = threading.Thread(target=Watcher().run, args=(stop,), name="watch")
        watching.start()
        Collector().run(stop)
        watching.join()
