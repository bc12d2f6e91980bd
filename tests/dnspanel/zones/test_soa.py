"""The SOA and the serial in it."""

from dnspanel.zones import soa
from replication.dns.rrset import Serial
from tests.dnspanel.zones.conftest import ZONE, rr


def test_a_zone_without_a_soa_gets_one_with_serial_1() -> None:
    made = soa.default_soa(ZONE, "ns1.example.net", "hostmaster.example.net")
    assert made.rdata == ("ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600",)
    assert soa.serial_of(made) == Serial(1)


def test_a_serial_moves_and_nothing_else() -> None:
    before = rr("@ 3600 SOA ns1.example.net. first\\.last.example.net. 7 7200 3600 604800 60")
    after = soa.with_serial(before, Serial(8))
    assert after.rdata == ("ns1.example.net. first\\.last.example.net. 8 7200 3600 604800 60",)
    assert soa.same(before, after)


def test_other_fields_of_a_soa_are_differences_and_so_is_its_absence() -> None:
    one = rr("@ 3600 SOA ns1.example.net. h.example.net. 7 7200 3600 604800 60")
    assert not soa.same(one, rr("@ 3600 SOA ns1.example.net. h.example.net. 7 7201 3600 604800 60"))
    assert not soa.same(one, rr("@ 60 SOA ns1.example.net. h.example.net. 7 7200 3600 604800 60"))
    assert not soa.same(one, None)
    assert soa.same(None, None)


def test_the_serial_is_that_of_the_served_record() -> None:
    off = "ns1.example.net. h.example.net. 9 7200 3600 604800 60"
    two = rr(f"@ 3600 SOA {off} | ns1.example.net. h.example.net. 7 7200 3600 604800 60", disabled=(off,))
    assert soa.serial_of(two) == Serial(7)


def test_the_next_soa_has_the_wanted_serial_only_if_that_is_higher() -> None:
    now = rr("@ 3600 SOA ns1.example.net. h.example.net. 7 7200 3600 604800 60")
    for asked, becomes in ((6, 8), (7, 8), (9, 9)):
        wanted = rr(f"@ 60 SOA ns2.example.net. h.example.net. {asked} 7200 3600 604800 60")
        assert soa.next_soa(now, wanted) == soa.with_serial(wanted, Serial(becomes))
    assert soa.next_soa(None, now) == now
    assert soa.next_soa(now, None) is None
