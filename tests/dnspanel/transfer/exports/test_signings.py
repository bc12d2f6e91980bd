"""Signing state in exports of many zones. One query reads all of it; private keys are exported only encrypted."""

import io
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.sealed_keys import Opener, Sealer
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PASSPHRASE = "a long passphrase"


def exported(sealer: Sealer | None = None) -> tuple[dict[str, Any], export_file.Tally]:
    """Return all zones' JSON objects by name, and the export's tally."""
    out = io.BytesIO()
    connection.ensure_connection()
    with connection.connection.transaction():
        tally = export_file.write_export(
            connection.connection, Zone.objects.all(), out, export_format="json", mtime=0, sealer=sealer
        )
    objects = [json.loads(line) for line in out.getvalue().splitlines()]
    return {zone["zone"]: zone for zone in objects}, tally


@pytest.fixture
def acting(alice: User) -> Acting:
    return Acting(author=alice, channel="web", now=NOW)


@pytest.fixture
def signed(make_zone: MakeZone, acting: Acting) -> list[Zone]:
    """Create five zones. Sign the second with one key, and the fourth with a KSK, a ZSK, NSEC3 and CDS."""
    zones = [make_zone("www 300 A 192.0.2.1", name=f"{name}.test.") for name in "abcde"]
    sign.sign(zones=[zones[1]], acting=acting)
    sign.sign(zones=[zones[3]], acting=acting, split=True, nsec3=Nsec3(0, b"\x01\xab", True, narrow=True))
    sign.set_cds(zone=zones[3], cds="2, 4", cdnskey=True, acting=acting)
    zsk = queries.keys_of(zones[3])[1]
    sign.add_key(zone=zones[3], acting=acting, flags=256, active=False, published=False)
    sign.delete_key(zone=zones[3], key_id=sign.add_key(zone=zones[3], acting=acting, flags=256).pk, acting=acting)
    assert zsk.flags == 256
    return zones


def test_zones_with_keys_say_how_they_are_signed_and_others_nothing(signed: list[Zone]) -> None:
    found, tally = exported()
    assert [name for name, zone in found.items() if "dnssec" in zone] == ["b.test.", "d.test."]
    assert [list(found[name]) for name in ("a.test.", "b.test.")] == [["zone", "rrsets"], ["zone", "rrsets", "dnssec"]]
    plain, full = found["b.test."]["dnssec"], found["d.test."]["dnssec"]
    [key] = queries.keys_of(signed[1])
    assert plain == {
        "nsec3param": None,
        "narrow": False,
        "cds": "",
        "cdnskey": False,
        "keys": [{"flags": 257, "algorithm": 13, "active": True, "published": True, "dnskey": key.dnskey}],
    }
    assert (full["nsec3param"], full["narrow"], full["cds"], full["cdnskey"]) == ("1 1 0 01ab", True, "2,4", True)
    assert [(each["flags"], each["active"], each["published"]) for each in full["keys"]] == [
        (257, True, True),
        (256, True, True),
        (256, False, False),
    ]
    assert (tally.keys, "sealed" in json.dumps(found)) == (0, False)


def test_private_keys_are_sealed_each_for_its_zone(signed: list[Zone], alice: User) -> None:
    found, tally = exported(Sealer(PASSPHRASE))
    assert tally.keys == 4
    assert "PrivateKey" not in json.dumps(found)
    opener = Opener(PASSPHRASE)
    for zone in (signed[1], signed[3]):
        keys = found[zone.name]["dnssec"]["keys"]
        texts = [queries.private_text(zone=zone, key_id=key.id, person=alice) for key in queries.keys_of(zone)]
        assert [opener.open(key["sealed"], zone=zone.name, dnskey=key["dnskey"]) for key in keys] == texts


def test_a_zone_without_rrsets_does_not_stop_those_behind_it(signed: list[Zone]) -> None:
    RRset.objects.filter(zone=signed[1]).delete()
    found, _ = exported()
    assert [name for name, zone in found.items() if "dnssec" in zone] == ["d.test."]


def test_a_zone_that_was_unsigned_has_none(signed: list[Zone], acting: Acting) -> None:
    sign.unsign(zones=[signed[1]], acting=acting)
    found, _ = exported()
    assert "dnssec" not in found["b.test."]


@pytest.mark.parametrize("sealer", [None, Sealer(PASSPHRASE)])
def test_more_signed_zones_are_not_more_queries(
    signed: list[Zone], make_zone: MakeZone, acting: Acting, sealer: Sealer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts the queries of both server-side cursors. Django itself sends none."""
    from dnspanel.transfer.exports import exported_rows, signings

    cursors: list[str] = []

    def fetched(conn: Any, sql: str, parameters: Any) -> Any:
        cursors.append(sql)
        return original(conn, sql, parameters)

    original = exported_rows.fetch_rows
    monkeypatch.setattr(exported_rows, "fetch_rows", fetched)
    monkeypatch.setattr(signings, "fetch_rows", fetched)
    sign.sign(zones=[make_zone(name=f"more{number}.test.") for number in range(9)], acting=acting)
    with CaptureQueriesContext(connection) as sent:
        found, _ = exported(sealer)
    assert sum("dnssec" in zone for zone in found.values()) == 11
    assert (len(cursors), len(sent)) == (2, 0)


def test_other_formats_do_not_ask(signed: list[Zone], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_file, "Signings", None)
    connection.ensure_connection()
    for format in ("bind", "csv", "queries"):
        with connection.connection.transaction():
            export_file.write_export(
                connection.connection, Zone.objects.all(), io.BytesIO(), export_format=format, mtime=0
            )
