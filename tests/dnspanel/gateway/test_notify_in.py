"""Tests of NOTIFY from primaries: accepted senders, effects, and a real BIND as the sender."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.gateway import notify_in
from dnspanel.gateway.rate_limits import Rates
from dnspanel.primaries import apply_transfer, refresh, set_up_primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.signals import due
from dnspanel.primaries.timers import LEAST_GAP
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.gateway.conftest import MakeKey, replies
from tests.dnspanel.gateway.test_gateway_server import running
from tests.dnspanel.primaries.conftest import KEY, TEXT, ZONE, Primary, awaited, records_here, row_of, take_turn
from tests.dnspanel.primaries.conftest import primary as primary
from tests.dnspanel.primaries.conftest import transferred as transferred
from tests.dnspanel.transfer.powerdns_estate import TSIG_SECRET
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.people import NOW
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

LOOPBACK, ELSEWHERE = "127.0.0.1", "192.0.2.99"
LATER = NOW + timedelta(minutes=5)


@pytest.fixture(autouse=True)
def fresh_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_in, "_noted", Rates(most_keys=1))


def notice(zone: str = ZONE, type: str = "SOA") -> dns.message.Message:
    message = dns.message.make_query(zone, type, flags=dns.flags.AA)
    message.set_opcode(dns.opcode.NOTIFY)
    return message


def signed(message: dns.message.Message, secret: str = TSIG_SECRET, name: str = "transfer") -> bytes:
    message.use_tsig(dns.tsigkeyring.from_text({name: secret}), algorithm=dns.tsig.HMAC_SHA256)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", LATER.timestamp)
        return message.to_wire()


def answer_to(wire: bytes, address: str = LOOPBACK, now: Any = LATER) -> str:
    """Return the rcode of the answer, and check that it answers a NOTIFY."""
    (reply,) = replies(wire, address=address, now=now)
    assert (reply[2] >> 3 & 15, reply[2] >> 7) == (dns.opcode.NOTIFY, 1)
    return dns.rcode.to_text(dns.rcode.Rcode.make(reply[3] & 15))


@pytest.fixture
def woken() -> Any:
    """Return a list that grows by one entry for each wake-up of the workers."""
    times: list[None] = []

    def note(**_: Any) -> None:
        times.append(None)

    due.connect(note)
    yield times
    due.disconnect(note)


def test_a_notice_of_a_primary_makes_the_zone_due_and_wakes_a_worker(transferred: Zone, woken: list[None]) -> None:
    del woken[:]
    assert answer_to(notice().to_wire()) == "NOERROR"
    row = row_of(transferred)
    assert (row.due_at, row.noticed_at, len(woken)) == (LATER, LATER, 1)
    assert answer_to(notice().to_wire(), now=LATER + timedelta(seconds=0.5)) == "NOERROR"
    assert (row_of(transferred).due_at, len(woken)) == (LATER, 1), "it is due already"


def test_who_has_the_zones_key_is_heard_from_anywhere_and_answered_signed(transferred: Zone) -> None:
    message = notice()
    wire = signed(message)
    (reply,) = replies(wire, address=ELSEWHERE, now=LATER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", LATER.timestamp)
        keyring = dns.tsigkeyring.from_text({"transfer": TSIG_SECRET})
        answer = dns.message.from_wire(reply, keyring=keyring, request_mac=message.mac)
    assert (answer.rcode(), answer.had_tsig) == (dns.rcode.NOERROR, True)
    assert row_of(transferred).due_at == LATER


def test_anybody_else_is_refused_and_counted_once_a_second(transferred: Zone, make_key: MakeKey) -> None:
    before = row_of(transferred).due_at
    assert answer_to(notice().to_wire(), ELSEWHERE) == "REFUSED"
    row = row_of(transferred)
    assert (row.due_at, row.notices_refused, row.notice_refused_at) == (before, 1, LATER)
    assert row.notice_refused_from == ELSEWHERE
    assert answer_to(notice().to_wire(), ELSEWHERE, LATER + LEAST_GAP / 2) == "REFUSED"
    assert row_of(transferred).notices_refused == 1
    # A key is checked for every sender. Keys of others count as none, even if they are the panel's.
    for number, wire in enumerate(
        [
            signed(notice(), "d3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmc="),
            signed(notice(), name="other"),
            make_key().sign(notice(), at=LATER),
        ],
        start=1,
    ):
        assert answer_to(wire, LOOPBACK, LATER + number * LEAST_GAP) == "NOTAUTH"
    row = row_of(transferred)
    assert (row.notices_refused, row.due_at) == (4, before)


def test_a_key_of_another_time_is_told_ours_and_proves_nothing(transferred: Zone) -> None:
    wire, late = signed(notice()), LATER + timedelta(minutes=6)
    assert answer_to(wire, now=late) == "NOTAUTH"
    assert row_of(transferred).noticed_at is None


def test_refused_notices_of_all_zones_together_are_written_down_within_a_rate(
    transferred: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify_in, "NOTED_BURST", 1)
    for number in range(5):
        assert answer_to(notice().to_wire(), ELSEWHERE, LATER + number * timedelta(microseconds=1)) == "REFUSED"
        TransferredZone.objects.update(notice_refused_at=None)
    assert row_of(transferred).notices_refused == 1


def test_which_zones_there_are_is_not_told(transferred: Zone, alice: User) -> None:
    wire = notice("nowhere.test.").to_wire()
    assert answer_to(wire, ELSEWHERE) == answer_to(notice().to_wire(), ELSEWHERE) == "REFUSED"
    set_up_primaries.take_over(zone=transferred, acting=Acting(alice, Channel.WEB, NOW))
    assert answer_to(notice().to_wire(), LOOPBACK) == "REFUSED", "its primary is this panel"
    assert row_of(transferred).due_at is None


def test_a_notice_is_about_the_soa_of_one_zone(transferred: Zone) -> None:
    assert answer_to(notice(type="A").to_wire()) == "FORMERR"
    empty = notice()
    empty.question.clear()
    assert answer_to(empty.to_wire()) == "FORMERR"


def test_a_flood_makes_one_turn_a_second(transferred: Zone, woken: list[None]) -> None:
    assert answer_to(notice().to_wire()) == "NOERROR"
    del woken[:]
    for number in range(1, 10):  # as if a worker had transferred the zone at once, each time
        TransferredZone.objects.update(due_at=LATER + refresh.CLAIM)
        answer_to(notice().to_wire(), now=LATER + number * timedelta(milliseconds=50))
    assert len(woken) == 0
    row = row_of(transferred)
    assert row.due_at is not None
    assert row.due_at > LATER + timedelta(seconds=1)


def test_a_notice_that_comes_during_a_turn_is_not_lost(transferred: Zone, primary: Primary) -> None:
    stale = row_of(transferred)
    TransferredZone.objects.update(due_at=LATER + refresh.CLAIM)
    assert answer_to(notice().to_wire()) == "NOERROR"
    timers = refresh._timers_of(stale)
    assert timers is not None
    apply_transfer.note_current(row=stale, timers=timers, now=LATER)
    assert row_of(transferred).due_at == LATER + LEAST_GAP
    assert take_turn(transferred, after=timedelta(minutes=6)) == ""
    assert row_of(transferred).due_at == NOW + timedelta(minutes=6) + timers.refresh


def test_a_change_of_a_bind_is_here_without_waiting_for_the_refresh(
    tmp_path: Path, alice: User, settings: Any, transactional_db: None
) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    with running() as port:
        options = (
            "allow-update { any; }; allow-transfer { key transfer; }; ixfr-from-differences yes; "
            f"notify explicit; notify-delay 0; also-notify {{ {LOOPBACK} port {port} key transfer; }};"
        )
        with named(tmp_path, {ZONE: TEXT}, {ZONE: options}) as primary_port:
            primary = Primary(primary_port)
            zone = awaited(primary.address, alice, **KEY)
            assert refresh.take_turn(zone_id=zone.pk, clock=timezone.now) == "axfr"
            assert row_of(zone).due_at > timezone.now() + timedelta(minutes=50)
            refused = row_of(zone).notices_refused  # perhaps the NOTIFY of its start, before the key existed
            primary.update(("replace", ("told", 60, "TXT", '"by NOTIFY"')))
            until(lambda: refresh.claim_due(timezone.now()) == zone.pk, seconds=20, what="no NOTIFY was taken")
            assert refresh.take_turn(zone_id=zone.pk, clock=timezone.now) == "ixfr"
            assert records_here(zone) == primary.records()
            row = row_of(zone)
            assert (row.notices_refused, row.noticed_at is not None) == (refused, True)
