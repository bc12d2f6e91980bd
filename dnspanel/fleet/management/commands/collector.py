"""The process that collects the nodes' live numbers."""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from dnspanel.fleet.collect import Collector


class Command(BaseCommand):
    help = "Asks every node for its numbers once a second and keeps the last hour, until it is stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        Collector().run(stop)
