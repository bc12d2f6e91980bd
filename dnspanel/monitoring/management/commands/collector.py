"""Run the process that collects the nodes' live statistics and watches the nodes. It doesn't need a broker."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dnspanel import checks
from dnspanel.alerts.watcher import Watcher
from dnspanel.database import statement_time
from dnspanel.database.base import name_process
from dnspanel.fleet.collector import Collector
from dnspanel.fleet.processes.alive import Alive
from dnspanel.fleet.processes.process_roles import COLLECTOR
from dnspanel.monitoring.proxy_probe import ProxyProbe

# The collector can wait this long for PostgreSQL or nodes, and still counts as working.
TURNS_WITHIN = 600.0


class Command(BaseCommand):
    help = "Collect the statistics of every node once a second, keep the last hour, and raise alerts, until stopped."
    requires_system_checks = [checks.OWN]

    def handle(self, *args: Any, **options: Any) -> None:
        name_process(COLLECTOR)
        statement_time.begin(statement_time.COLLECTOR)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        watching = threading.Thread(target=Watcher().run, args=(stop,), name="watch")
        watching.start()
        collector = Collector()
        life = Alive(COLLECTOR, is_working=lambda: collector.turns.is_recent(TURNS_WITHIN))
        proxy = ProxyProbe(settings.PROXY_URL)
        life.start()
        proxy.life.start(with_file=False)
        try:
            collector.run(stop)
            watching.join()
        finally:
            proxy.life.stop(goodbye=False)  # the proxy keeps running
            life.stop()
