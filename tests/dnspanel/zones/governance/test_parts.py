"""The parts of changes that differ from the current state."""

from dnspanel.zones.governance.parts import types_changed
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Serial
from tests.dnspanel.zones.conftest import rr

SOA = rr("@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600")


def change(before: object, after: object) -> Change:
    some = after or before
    return Change(some.name, some.type, before, after)  # type: ignore[attr-defined,arg-type]


def test_a_serial_that_moves_changes_nothing() -> None:
    www = rr("www 60 A 192.0.2.1")
    moved = change(SOA, soa.with_serial(SOA, Serial(2)))
    assert types_changed([moved, change(None, www), change(www, None)]) == {rdtypes.A: 2}
