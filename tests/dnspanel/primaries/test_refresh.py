"""Tests of a zone from a real BIND: a full transfer first, then increments, and equal records in the end.

Tests `primaries.soa_query` and `primaries.primary_keys` too: every turn begins with the SOA.
"""

import random
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.primaries import refresh
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.models import Channel, Publication, Revision, RevisionKind, Zone
from replication.codec.dnssec import Nsec3
from tests.dnspanel.primaries.conftest import KEY, TEXT, ZONE, Primary, awaited, records_here, row_of, take_turn
from tests.dnspanel.primaries.knot import running_knot
from tests.dnspanel.transfer.running import needed, sqlite_powerdns
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.people import NOW
from tests.ports import free_port
from tests.signzone import text_with_two_chains

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = 40


def edited(chance: random.Random) -> tuple[str, tuple[Any, ...]]:
    name = f"h{chance.randrange(6)}"
    kind = chance.choice(["A", "AAAA", "TXT", "MX", "SRV"])
    number = chance.randrange(1, 250)
    text = {
        "A": f"192.0.2.{number}",
        "AAAA": f"2001:db8::{number:x}",
        "TXT": f'"{number}" "Two Words"',
        "MX": f"{number} mail{number % 5}.example.net.",
        "SRV": f"1 2 {number} target{number % 3}.abroad.test.",
    }[kind]
    if chance.random() < 0.3:
        return "delete", (name, kind)
    return ("add" if chance.random() < 0.6 else "replace"), (name, chance.choice([60, 300]), kind, text)


def test_after_random_changes_the_zone_is_the_primarys_record_for_record_mostly_by_ixfr(
    transferred: Zone, primary: Primary
) -> None:
    assert records_here(transferred) == primary.records()
    chance, how = random.Random(7), []
    for _ in range(CHANGES):
        primary.update(*(edited(chance) for _ in range(chance.randrange(1, 5))))
        how.append(take_turn(transferred))
        assert records_here(transferred) == primary.records()
    assert set(how) <= {"", "axfr", "ixfr"}
    assert how.count("ixfr") > how.count("axfr")
    transferred.refresh_from_db()
    assert transferred.serial == row_of(transferred).serial


def test_all_of_the_zone_in_answer_to_an_ixfr_is_taken_and_not_transferred_again(
    tmp_path: Path, alice: User, settings: Any
) -> None:
    """RFC 1995 section 4 allows a full answer to IXFR. The panel used to drop it and ask again with AXFR."""
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    many = "".join(f"h{number} 300 TXT {'x' * 200}\n" for number in range(1_000))  # several messages
    options = {ZONE: "allow-update { any; }; allow-transfer { key transfer; };"}
    with named(tmp_path, {ZONE: TEXT + many}, options, own_options="provide-ixfr no;") as port:
        server = Primary(port)
        zone = awaited(server.address, alice, **KEY)
        assert take_turn(zone) == "axfr"
        server.update(("delete", ("www", "A")), ("add", ("new", 60, "A", "192.0.2.9")))
        assert take_turn(zone) == "axfr"
        log = (tmp_path / "named.log").read_text()
        assert re.findall(r"transfer of 'abroad.test/IN': (.+) started", log) == ["AXFR", "AXFR-style IXFR"]
        assert records_here(zone) == server.records()
    zone.refresh_from_db()
    assert zone.serial == row_of(zone).serial == 11


def test_the_first_transfer_brings_the_zone_to_the_nodes_and_is_a_publication_of_its_own_channel(
    transferred: Zone,
) -> None:
    kinds = Revision.objects.filter(zone=transferred).order_by("number").values_list("kind", flat=True)
    assert list(kinds) == [RevisionKind.AWAIT, RevisionKind.RESTORE]
    last = Publication.objects.latest("sequence")
    assert (last.channel, last.author) == (Channel.TRANSFER, None)
    assert last.reason.startswith("transferred from 127.0.0.1:")
    assert transferred.is_served
    row = row_of(transferred)
    assert row.due_at == NOW + timedelta(hours=1)
    assert row.expires_at == NOW + timedelta(days=1)
    assert (row.failures, row.error, row.alert_at) == (0, "", None)


def test_a_wrong_key_is_refused_and_told(primary: Primary, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    zone = awaited(primary.address, alice, **{**KEY, "tsig_secret": "d3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmc="})
    assert "rejected the TSIG key: BadSignature" in take_turn(zone)
    row = row_of(zone)
    assert (row.failures, row.alert_at, row.serial) == (1, NOW, None)
    zone.refresh_from_db()
    assert not zone.is_served


def test_without_the_key_the_transfer_is_refused_and_told(primary: Primary, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    zone = awaited(primary.address, alice)
    assert "REFUSED" in take_turn(zone)


def test_a_smaller_serial_changes_nothing_and_is_told(transferred: Zone, primary: Primary) -> None:
    row = row_of(transferred)
    assert row.serial is not None
    # The primary was silent before, and the alert's time is still ahead.
    TransferredZone.objects.filter(pk=row.pk).update(serial=row.serial + 5, alert_at=NOW + timedelta(hours=1))
    before = records_here(transferred)
    assert "Serials can only increase" in take_turn(transferred)
    assert records_here(transferred) == before
    assert row_of(transferred).alert_at == NOW


def test_the_second_primary_is_asked_where_the_first_is_silent(transferred: Zone, primary: Primary) -> None:
    TransferredZone.objects.filter(pk=transferred.pk).update(addresses=["127.0.0.1:1024", primary.address])
    primary.update(("replace", ("second", 60, "TXT", '"asked"')))
    assert take_turn(transferred) == "ixfr"
    assert row_of(transferred).transferred_from == primary.address


def test_a_zone_is_claimed_once_when_it_is_due_and_not_before(transferred: Zone) -> None:
    assert refresh.claim_due(NOW + timedelta(minutes=59)) is None
    at = NOW + timedelta(hours=1)
    assert refresh.claim_due(at) == transferred.pk
    assert refresh.claim_due(at) is None
    assert refresh.claim_due(at + refresh.CLAIM) == transferred.pk


def test_what_cannot_be_served_changes_nothing(transferred: Zone, primary: Primary) -> None:
    before = records_here(transferred)
    primary.update(("add", ("lua", 60, "TYPE65402", r"\# 5 0001027b7d")))
    try:
        assert "can’t be served" in take_turn(transferred)
        assert records_here(transferred) == before
    finally:
        primary.update(("delete", ("lua",)))
    assert take_turn(transferred) in ("axfr", "ixfr")
    assert transferred.name == ZONE


def test_of_knot_comes_the_zone_then_what_changed_and_signed_once_it_signs(
    tmp_path: Path, alice: User, settings: Any
) -> None:
    needed("knotd", "knotc")
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    port = free_port()
    acl = "acl:\n  - id: panel\n    address: 127.0.0.1\n    action: transfer\n"
    with running_knot(tmp_path, port, server=f"    listen: 127.0.0.1@{port}\n", acl=acl) as knot:
        zone = awaited(f"127.0.0.1:{port}", alice)
        assert take_turn(zone) == "axfr"
        knot.add("new", "60", "A", "192.0.2.9")
        assert take_turn(zone) == "ixfr"
        assert ("new.abroad.test.", 60, "A", "192.0.2.9") in records_here(zone)
        assert not signing_of(zone).presigned
        knot.conf.write_text(knot.conf.read_text().replace("dnssec-signing: off", "dnssec-signing: on"))
        knot.control("reload")
        knot.control("zone-sign", ZONE)
        assert take_turn(zone) == "axfr"
        assert signing_of(zone).presigned
        assert {"RRSIG", "DNSKEY"} <= {kind for _, _, kind, _ in records_here(zone)}


def test_of_a_zone_with_two_chains_both_are_known(tmp_path: Path, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    chains = (Nsec3(), Nsec3(2, b"\xab\xcd"))
    with named(tmp_path, {ZONE: text_with_two_chains(ZONE, f"$ORIGIN {ZONE}\n{TEXT}", chains)}) as port:
        zone = awaited(f"127.0.0.1:{port}", alice)
        assert take_turn(zone) == "axfr"
    state = signing_of(zone)
    assert {state.denial, *state.other_nsec3} == set(chains)


def test_of_powerdns_comes_the_zone_and_signed_once_it_signs(tmp_path: Path, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    powerdns = sqlite_powerdns(tmp_path)
    powerdns.load_zone(ZONE, f"$ORIGIN {ZONE}\n{TEXT}")
    with powerdns.server(**{"allow-axfr-ips": "127.0.0.0/8", "zone-cache-refresh-interval": 0}) as port:
        zone = awaited(f"127.0.0.1:{port}", alice)
        assert take_turn(zone) == "axfr"
        assert ("www.abroad.test.", 300, "A", "192.0.2.2") in records_here(zone)
        powerdns.pdnsutil("secure-zone", ZONE)
        powerdns.pdnsutil("rectify-zone", ZONE)
        powerdns.pdnsutil("increase-serial", ZONE)
    with powerdns.server(**{"allow-axfr-ips": "127.0.0.0/8"}) as port:
        TransferredZone.objects.update(addresses=[f"127.0.0.1:{port}"])
        assert take_turn(zone) == "axfr"
    assert signing_of(zone).presigned
    assert {"RRSIG", "DNSKEY"} <= {kind for _, _, kind, _ in records_here(zone)}
