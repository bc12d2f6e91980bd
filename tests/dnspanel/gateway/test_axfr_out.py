"""Tests of zone transfers: everything that is served at one moment, for any number of records."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dns.message
import dns.rdatatype
import pytest
from django.db import connection

from dnspanel.accounts.models import User
from dnspanel.gateway import axfr_out, ixfr_out
from dnspanel.gateway.errors import MessageRefused
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Unknown
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights.access import Visibility
from replication.dns import rdtypes
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)


def messages(zone: Zone, sees: Visibility | None = None) -> Iterator[bytes]:
    """Yield the messages of the transfer."""
    with ixfr_out.transfer_of(zone, since=None, sees=sees) as transfer:
        yield from axfr_out.pack_messages(transfer.records, zone.name, id=7, qtype=dns.rdatatype.AXFR)


def transferred(zone: Zone, sees: Visibility | None = None) -> list[str]:
    """Return the records of the transfer in their order."""
    wires = list(messages(zone, sees))
    parsed = [dns.message.from_wire(wire, one_rr_per_rrset=True) for wire in wires]
    assert all(message.id == 7 and len(message.question) == 1 for message in parsed)
    return [rrset.to_text() for message in parsed for rrset in message.answer]


def test_the_soa_stands_first_and_last_and_everything_else_between(zone: Zone) -> None:
    records = transferred(zone)
    assert records[0] == records[-1]
    assert records[0].startswith("example.test. 3600 IN SOA ")
    assert records[1:-1] == [
        "example.test. 3600 IN NS ns1.example.net.",
        "example.test. 3600 IN NS ns2.example.net.",
        "example.test. 3600 IN MX 10 mail.example.test.",
        "mail.example.test. 300 IN A 192.0.2.9",
        "shop.example.test. 300 IN CNAME www.example.test.",
        "www.example.test. 300 IN A 192.0.2.1",
        "www.example.test. 300 IN A 192.0.2.2",
    ]


def test_what_is_not_served_is_not_transferred(zone: Zone, alice: User) -> None:
    off = rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.1",))
    change_rrsets(zone=zone, changes={(off.name, off.type): off}, author=alice, channel=Channel.API, now=NOW)
    assert [line for line in transferred(zone) if line.startswith("www")] == ["www.example.test. 300 IN A 192.0.2.2"]


def test_a_key_with_a_narrow_view_gets_the_soa_and_what_it_sees(zone: Zone) -> None:
    records = transferred(zone, lambda name, type_: type_ == rdtypes.MX)
    assert [line.split()[3] for line in records] == ["SOA", "MX", "SOA"]


def test_types_of_powerdns_travel_as_bytes(make_zone: MakeZone, settings: Any) -> None:
    settings.ALIAS_RESOLVER = "192.0.2.53"
    records = transferred(make_zone("@ 300 ALIAS host.example.net."))
    assert any(" TYPE65401 " in line for line in records)


def test_a_large_zone_comes_in_many_messages_and_is_whole(make_zone: MakeZone) -> None:
    lines = [f"h{number} 300 A 192.0.2.{number % 250}" for number in range(5000)]
    records = transferred(make_zone(*lines))
    assert len(records) == 5000 + 2 + 2
    assert len(set(records)) == len(records) - 1
    wires = list(messages(Zone.objects.get()))
    assert len(wires) > 3
    assert max(map(len, wires)) < 65535 - 200


def test_a_change_in_the_middle_is_not_seen(make_zone: MakeZone, alice: User) -> None:
    lines = [f"h{number} 300 A 192.0.2.1" for number in range(3000)]
    zone = make_zone(*lines)
    wires = messages(zone)
    first = next(wires)
    # A change from another connection, as another process would make it.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_move_all, zone, alice).result() == 3000
    rest = [record for wire in (first, *wires) for record in dns.message.from_wire(wire, one_rr_per_rrset=True).answer]
    assert sum("192.0.2.1" in record.to_text() for record in rest) == 3000
    assert rest[0] == rest[-1]
    assert "192.0.2.2" in transferred(Zone.objects.get())[3]


def _move_all(zone: Zone, alice: User) -> int:
    changes = {(r.name, r.type): r for r in (rr(f"h{number} 300 A 192.0.2.2") for number in range(3000))}
    try:
        change_rrsets(zone=zone, changes=changes, author=alice, channel=Channel.API, now=NOW, confirmed=True)
    finally:
        connection.close()
    return len(changes)


def test_a_zone_that_is_gone_is_unknown(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    Zone.objects.all().delete()
    with pytest.raises(Unknown):
        transferred(zone)


def test_only_a_few_transfers_run_at_once() -> None:
    turns = [axfr_out.a_turn() for _ in range(axfr_out.MAX_AT_ONCE)]
    for turn in turns:
        turn.__enter__()
    with pytest.raises(MessageRefused), axfr_out.a_turn():
        pass
    for turn in turns:
        turn.__exit__(None, None, None)
    with axfr_out.a_turn():
        pass
