"""SOA records and their serials."""

from datetime import UTC, datetime, timedelta

import pytest

from dnspanel.zones.values import soa
from dnspanel.zones.values.soa import SoaEdit
from replication.dns.rrset import Serial
from tests.dnspanel.zones.conftest import ZONE, rr

SUNDAY = datetime(2026, 11, 22, 23, 59, tzinfo=UTC)
EPOCH = int(SUNDAY.timestamp())


def test_a_zone_without_a_soa_gets_one_with_todays_first_serial() -> None:
    made = soa.default_soa(ZONE, "ns1.example.net", "hostmaster.example.net", soa.first_serial(SUNDAY))
    assert made.rdata == ("ns1.example.net. hostmaster.example.net. 2026112201 10800 3600 604800 3600",)
    assert soa.serial_of(made) == Serial(2026112201)


@pytest.mark.parametrize(
    ("api", "edit", "given", "first"),
    [  # as pdns_server 4.7.3 answered a POST with `serial`, `soa_edit_api` and `soa_edit`
        ("DEFAULT", "", 0, 2026112201),
        ("default", "", 7, 2026112201),
        ("DEFAULT", "", 2030010101, 2030010102),
        ("INCREASE", "", 0, 1),
        ("INCREASE", "none", 7, 8),
        ("EPOCH", "", 0, EPOCH),
        ("", "", 7, 7),
        ("SOA-EDIT", "", 7, 7),
        ("SOA-EDIT", "EPOCH", 7, EPOCH),
        ("SOA-EDIT-INCREASE", "EPOCH", 0, EPOCH),
        ("SOA-EDIT-INCREASE", "", 7, 8),
        # The serial in DNS answers, shown as `edited_serial`.
        ("DEFAULT", "EPOCH", 0, EPOCH),
        ("DEFAULT", "INCEPTION-INCREMENT", 0, 2026112201),
        ("INCREASE", "INCEPTION-INCREMENT", 0, 2026111901),
        ("INCREASE", "INCEPTION-EPOCH", 0, int(datetime(2026, 11, 19, tzinfo=UTC).timestamp())),
        # Here the serial starts at 0.
        ("", "", 0, 2026112201),
        ("SOA-EDIT", "", 0, 2026112201),
    ],
)
def test_the_serial_of_a_new_zone_is_powerdns_s(api: str, edit: str, given: int, first: int) -> None:
    assert SoaEdit(api, edit).first(Serial(given), SUNDAY) == Serial(first)


@pytest.mark.parametrize(
    ("api", "edit", "serial", "following"),
    [
        ("INCREASE", "", 7, 8),
        ("INCREASE", "", 2**32 - 1, 1),
        ("DEFAULT", "", 7, 2026112201),
        ("DEFAULT", "", 2026112101, 2026112201),
        ("DEFAULT", "", 2026112201, 2026112202),
        ("EPOCH", "", 7, EPOCH),
        ("EPOCH", "", EPOCH, EPOCH + 1),
        ("DEFAULT", "EPOCH", EPOCH - 5, EPOCH),
        ("SOA-EDIT-INCREASE", "INCEPTION-INCREMENT", 2026111905, 2026111906),
        # PowerDNS keeps or lowers these serials, and secondaries would never transfer the change.
        ("EPOCH", "", 2030010101, 2030010102),
        ("", "", 7, 8),
        ("SOA-EDIT", "NONE", 7, 8),
        ("unknown", "", 7, 8),
    ],
)
def test_a_serial_moves_as_the_zone_says_and_always_on(api: str, edit: str, serial: int, following: int) -> None:
    assert SoaEdit(api, edit).after(Serial(serial), SUNDAY) == Serial(following)


@pytest.mark.parametrize("api", ["", *soa.SOA_EDIT_API])
@pytest.mark.parametrize("edit", ["", *soa.SOA_EDIT])
def test_whatever_a_zone_says_each_serial_is_greater_than_the_one_before(api: str, edit: str) -> None:
    serial, way = Serial(2**31 - 2), SoaEdit(api, edit)
    for hours in range(0, 24 * 20, 5):
        following = way.after(serial, SUNDAY + timedelta(hours=hours))
        assert following > serial
        serial = following


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
    for requested, becomes in ((6, 8), (7, 8), (9, 9)):
        wanted = rr(f"@ 60 SOA ns2.example.net. h.example.net. {requested} 7200 3600 604800 60")
        assert soa.next_soa(now, wanted, SoaEdit(), SUNDAY) == soa.with_serial(wanted, Serial(becomes))
    assert soa.next_soa(None, now, SoaEdit(), SUNDAY) == now
    assert soa.next_soa(now, None, SoaEdit(), SUNDAY) is None
