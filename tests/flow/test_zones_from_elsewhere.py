"""A zone whose primary is BIND. NOTIFY brings changes to all nodes at once. A zone can be deleted before it arrives.

The SOA refresh is hours, so only NOTIFY, through the gateway and a Celery worker, can deliver the change.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.query
import dns.rcode
import dns.update
import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.stack import ask, ask_all, make_person, run_inside, until

pytestmark = pytest.mark.flow

ZONE, AWAITED = "notified.test.", "awaited.test."
TEXT = f"""
@ 300 SOA ns1.{ZONE} hostmaster.{ZONE} 10 86400 86400 864000 300
@ 300 NS ns1.{ZONE}
ns1 300 A 192.0.2.53
www 2 A 192.0.2.1
"""


@contextmanager
def primary(stack: Stack, directory: Path, *zones: str) -> Iterator[int]:
    """Start BIND with these zones. It accepts DNS UPDATE from all clients and notifies the gateway."""
    options = f"allow-update {{ any; }}; notify explicit; also-notify {{ 127.0.0.1 port {stack.update_port}; }};"
    texts = {zone: TEXT.replace(ZONE, zone) for zone in zones}
    with named(directory, texts, dict.fromkeys(zones, options)) as port:
        yield port


@pytest.fixture(scope="module", autouse=True)
def prima(stack: Stack) -> None:
    make_person(stack, "prima")


def update(port: int, zone: str, address: str) -> None:
    message = dns.update.UpdateMessage(zone)
    message.replace("www", 2, "A", address)
    assert dns.query.tcp(message, "127.0.0.1", port=port, timeout=10).rcode() == dns.rcode.NOERROR


def test_a_change_is_at_every_node_by_notify(stack: Stack, tmp_path: Path) -> None:
    with primary(stack, tmp_path, ZONE) as port:
        run_inside(stack, "zones_from_elsewhere.create", ZONE, f"127.0.0.1:{port}")
        for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            if address != "192.0.2.1":
                update(port, ZONE, address)
            until(
                lambda address=address: all(one.rdata == (address,) for one in ask_all(stack, f"www.{ZONE}")),  # type: ignore[misc]
                seconds=30,
                what=lambda: (
                    f"{ask_all(stack, f'www.{ZONE}')} {(stack.directory / 'log/update.log').read_text()[-1000:]}"
                ),
            )


def test_a_zone_that_no_node_has_yet_is_deleted_restored_and_comes_then(stack: Stack, tmp_path: Path) -> None:
    with primary(stack, tmp_path, AWAITED) as port:
        run_inside(stack, "zones_from_elsewhere.create", AWAITED, "127.0.0.1:1024")  # no server listens there
        run_inside(stack, "zones_from_elsewhere.delete_or_restore", AWAITED, "delete")
        run_inside(stack, "zones_from_elsewhere.delete_or_restore", AWAITED, "restore")
        assert ask(stack.nodes[0], f"www.{AWAITED}").rcode == "REFUSED"
        run_inside(stack, "zones_from_elsewhere.set_address", AWAITED, f"127.0.0.1:{port}")
        until(
            lambda: all(one.rdata == ("192.0.2.1",) for one in ask_all(stack, f"www.{AWAITED}")),
            seconds=30,
            what=lambda: str(ask_all(stack, f"www.{AWAITED}")),
        )
