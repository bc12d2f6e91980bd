"""Run the process that answers DNS UPDATE, zone transfers, queries and NOTIFY."""

import asyncio
import signal
from typing import Any

import dns.exception
import dns.message
import dns.query
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel import checks
from dnspanel.database import statement_time
from dnspanel.database.base import name_process
from dnspanel.fleet.processes.alive import Alive, Turns
from dnspanel.fleet.processes.process_roles import UPDATE
from dnspanel.gateway.gateway_server import Gateway

TURNS_WITHIN = 30.0
ANSWER_SECONDS = 3.0


class Command(BaseCommand):
    help = "Answer DNS UPDATE, zone transfers, queries and NOTIFY at PANEL_UPDATE_HOST and PANEL_UPDATE_PORT."
    requires_system_checks = [checks.OWN]

    def handle(self, *args: Any, **options: Any) -> None:
        name_process(UPDATE)
        statement_time.begin(statement_time.GATEWAY)
        asyncio.run(listen(settings.UPDATE_HOST, settings.UPDATE_PORT, settings.UPDATE_TLS_PORT or None))


async def listen(host: str, port: int, tls_port: int | None) -> None:
    """Run the gateway until SIGTERM or SIGINT. Raise CommandError if a port cannot be opened."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    gateway = Gateway(host, port, clock=timezone.now, tls_port=tls_port)
    try:
        await gateway.start()
    except OSError as exc:
        over_tls = f" or {tls_port}" if tls_port else ""
        raise CommandError(f"Cannot listen on {host} port {port}{over_tls}: {exc.strerror or exc}.") from exc
    turns = Turns()
    turning = asyncio.create_task(_mark(turns))
    life = Alive(UPDATE, is_working=lambda: turns.is_recent(TURNS_WITHIN), answers=lambda: answers(host, gateway.port))
    life.start()
    await stop.wait()
    turning.cancel()
    await gateway.stop()
    await asyncio.to_thread(life.stop)


async def _mark(turns: Turns) -> None:
    while True:
        turns.mark()
        await asyncio.sleep(1)


def answers(host: str, port: int) -> bool:
    """Return True if the gateway answers a query over UDP, with any rcode."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    question = dns.message.make_query(".", "SOA")
    try:
        dns.query.udp(question, address, port=port, timeout=ANSWER_SECONDS)
    except (OSError, dns.exception.DNSException):
        return False
    return True
