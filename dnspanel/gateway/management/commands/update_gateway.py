"""The process that speaks DNS UPDATE."""

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel import checks, statement_time
from dnspanel.gateway.server import Gateway


class Command(BaseCommand):
    help = "Takes DNS UPDATE (RFC 2136) and AXFR with TSIG at PANEL_UPDATE_HOST and PANEL_UPDATE_PORT, until stopped."
    requires_system_checks = [checks.OWN]

    def handle(self, *args: Any, **options: Any) -> None:
        statement_time.begin(statement_time.GATEWAY)
        asyncio.run(listen(settings.UPDATE_HOST, settings.UPDATE_PORT, settings.UPDATE_TLS_PORT or None))


async def listen(host: str, port: int, tls_port: int | None) -> None:
    """Listen until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    gateway = Gateway(host, port, clock=timezone.now, tls_port=tls_port)
    try:
        await gateway.start()
    except OSError as exc:
        over_tls = f" or {tls_port}" if tls_port else ""
        raise CommandError(f"Cannot listen on {host} port {port}{over_tls}: {exc.strerror or exc}.") from exc
    await stop.wait()
    await gateway.stop()
