"""Tests of NOTIFY to servers that answer, to silent servers, and with answers from strangers.

Tests `secondaries.udp_exchange`, `secondaries.record`, `secondaries.secondary_keys`, `secondaries.tasks`,
`secondaries.signals`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.tsig
import pytest

from dnspanel import wake as waking
from dnspanel.accounts.models import User
from dnspanel.secondaries import members, notices, record, secondary_keys, tasks, udp_exchange
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.models import Zone
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.secondaries.server import NameServer, signed_answer
from tests.dnspanel.secondaries.test_members import publish
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

KEY = dns.tsig.Key("key.test.", b"0123456789abcdef", "hmac-sha256")


@pytest.fixture(autouse=True)
def at_home(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow secondaries on this machine, and shorten the wait for a silent server."""
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(notices, "_SECONDS", 0.2)


def clock(at: datetime = NOW) -> Callable[[], datetime]:
    return lambda: at


def exchanged(decide: Any, *messages: dns.message.Message, seconds: float = 0.3) -> list[str]:
    with NameServer(KEY, decide) as server:
        answers = udp_exchange.exchange(messages, address=server.address, key=KEY, seconds=seconds)
    return [answer.error for answer in answers]


def told(server: NameServer) -> list[str]:
    """Return the zones of the received NOTIFY messages, in order. Check that each message is signed."""
    assert all(query.opcode() == dns.opcode.NOTIFY and query.had_tsig for query in server.received)
    return [query.question[0].name.to_text() for query in server.received]


def moved_to(secondary: Secondary, address: str) -> None:
    Secondary.objects.filter(pk=secondary.pk).update(addresses=[address])


def test_each_zone_is_told_of_once_and_then_waits_for_nothing(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    make_zone()
    make_zone(name="two.test.")
    secondary = make_secondary()
    with NameServer(secondary_keys.key_of(secondary), signed_answer) as server:
        moved_to(secondary, server.address)
        assert notices.secondaries_with_due(now=NOW) == [secondary.pk]
        sent = notices.send_due(secondary_id=secondary.pk, clock=clock())
        assert (sent.sent, sent.answered) == (2, 2)
        assert notices.send_due(secondary_id=secondary.pk, clock=clock()) == notices.Sent()
    assert sorted(told(server)) == [f"catalog-{secondary.pk}.secondaries.dnspanel.", "example.test.", "two.test."]
    assert set(Member.objects.values_list("notify_at", "notified_at", "notify_error")) == {(None, NOW, "")}
    assert notices.secondaries_with_due(now=NOW) == []


def test_notify_has_the_new_soa_so_that_nobody_has_to_ask_for_it(
    zone: Zone, alice: User, make_secondary: MakeSecondary
) -> None:
    """RFC 1996, section 3.7. This also applies to catalogs."""
    secondary = make_secondary()
    publish(zone, alice, "www 300 A 192.0.2.7")
    zone.refresh_from_db()
    members.note_publications(now=NOW)
    with NameServer(secondary_keys.key_of(secondary), signed_answer) as server:
        moved_to(secondary, server.address)
        notices.send_due(secondary_id=secondary.pk, clock=clock())
        Member.objects.update(notify_at=NOW, zone=None)  # the zone is deleted in this moment
        notices.send_due(secondary_id=secondary.pk, clock=clock())
    secondary.refresh_from_db()
    of_catalog, of_zone, of_none = (query.answer for query in server.received)
    soa = f"{of_catalog[0].name} 0 IN SOA invalid. invalid. {secondary.catalog_serial} 60 30 2419200 0"
    assert [rrset.to_text() for rrset in of_catalog] == [soa]
    hostmaster = "ns1.example.net. hostmaster.example.net."
    timers = "10800 3600 604800 3600"
    assert [rrset.to_text() for rrset in of_zone] == [f"{zone.name} 3600 IN SOA {hostmaster} {zone.serial} {timers}"]
    assert of_none == []


def test_one_that_does_not_answer_is_tried_at_growing_pauses_and_then_left_alone(
    zone: Zone, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary()
    at = NOW
    with NameServer(secondary_keys.key_of(secondary), lambda query: None) as server:
        moved_to(secondary, server.address)
        for wait in notices.WAITS:
            notices.send_due(secondary_id=secondary.pk, clock=clock(at))
            member = Member.objects.get()
            assert member.notify_at == at + wait
            assert notices.send_due(secondary_id=secondary.pk, clock=clock(at)) == notices.Sent()
            at += wait
        notices.send_due(secondary_id=secondary.pk, clock=clock(at))
    member = Member.objects.get()
    assert (member.notify_at, member.attempts, member.notify_error) == (
        None,
        len(notices.WAITS) + 1,
        "The server didn’t respond.",
    )
    assert member.behind_since == NOW, "it still is, and somebody is alerted"


def test_a_publication_while_notify_is_under_way_is_not_lost(zone: Zone, make_secondary: MakeSecondary) -> None:
    secondary = make_secondary()
    later = NOW + timedelta(seconds=1)

    def published_meanwhile(*args: Any, **kwargs: Any) -> list[udp_exchange.Answer]:
        Member.objects.update(notify_at=later)
        return [udp_exchange.Answer()]

    Secondary.objects.update(catalog_notify_at=None)
    notices.send_due(secondary_id=secondary.pk, clock=clock(), send=published_meanwhile)
    assert Member.objects.get().notify_at == later


def test_a_server_with_two_addresses_is_tried_at_the_other_one(zone: Zone, make_secondary: MakeSecondary) -> None:
    secondary = make_secondary()
    with NameServer(secondary_keys.key_of(secondary), signed_answer) as server:
        Secondary.objects.update(addresses=["127.0.0.1:1", server.address], catalog_notify_at=None)
        assert notices.send_due(secondary_id=secondary.pk, clock=clock()).answered == 0
        assert "couldn’t be reached" in Member.objects.get().notify_error
        assert notices.send_due(secondary_id=secondary.pk, clock=clock(NOW + notices.WAITS[0])).answered == 1


def test_only_the_key_proves_an_answer() -> None:
    message = udp_exchange.notify_message("example.test.", None)
    stranger = dns.tsig.Key("key.test.", b"another secret!!", "hmac-sha256")

    def forged(query: dns.message.Message) -> dns.message.Message:
        answer = dns.message.make_response(udp_exchange.notify_message("example.test.", None))
        answer.id = query.id
        answer.use_tsig(stranger, algorithm=stranger.algorithm)
        return answer

    def without(query: dns.message.Message) -> bytes:
        query.keyring = None
        answer = dns.message.make_response(udp_exchange.notify_message("example.test.", None))
        answer.id = query.id
        return answer.to_wire()

    def refusing(query: dns.message.Message) -> dns.message.Message:
        answer = signed_answer(query)
        answer.set_rcode(dns.rcode.REFUSED)
        return answer

    assert exchanged(forged, message) == ["The server didn’t respond."]
    assert exchanged(without, message) == ["The server answered NOERROR without a signature."]
    assert exchanged(refusing, message) == ["The server answered REFUSED."]
    assert exchanged(lambda query: b"\0" * 3, message) == ["The server didn’t respond."]


def test_many_messages_go_out_in_windows_and_each_answer_finds_its_own() -> None:
    messages = [udp_exchange.soa_question(f"z{number}.test.") for number in range(200)]
    for message in messages:
        message.id = 7
    assert exchanged(signed_answer, *messages, seconds=5) == [""] * 200
    assert all(message.question[0].rdtype == dns.rdatatype.SOA for message in messages)


def test_an_address_that_the_operator_does_not_allow_any_more_is_not_sent_to(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = []
    (answer,) = udp_exchange.exchange(
        [udp_exchange.notify_message("example.test.", None)], address="127.0.0.1:53", key=KEY, seconds=1
    )
    assert "PANEL_SECONDARY_NETWORKS" in answer.error


def test_refusals_are_all_counted_and_seldom_written(secondary: Secondary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_refusals", record._Refusals())
    for number in range(100):
        at = NOW + timedelta(milliseconds=number)
        record.note_refusal(secondary_id=secondary.pk, reason="BADSIG", address="192.0.2.66", now=at)
    written = Secondary.objects.get()
    assert written.refusals == record._AT_ONCE
    later = NOW + timedelta(minutes=1)
    record.note_refusal(secondary_id=secondary.pk, reason="BADSIG", address="192.0.2.66", now=later)
    assert Secondary.objects.get().refusals == 101


def test_tasks_follow_and_send_and_are_woken_only_where_there_is_a_secondary(
    make_zone: MakeZone, make_secondary: MakeSecondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    for module in (tasks, waking):
        monkeypatch.setattr(module, "wake", lambda task, *args: woken.append(task.name.rpartition(".")[2]))
    sender = tasks.notify_secondary
    monkeypatch.setattr(tasks, "wake_each", lambda task, ids: [task(id) for id in ids if task == sender])
    tasks.wake_after_publication()
    assert woken == []
    secondary = make_secondary()
    assert woken == ["drive_secondaries"], "by the signal of who made it"
    tasks.wake_after_publication()
    assert woken[1:] == ["follow_publications"]
    with NameServer(secondary_keys.key_of(secondary), signed_answer) as server:
        moved_to(secondary, server.address)
        make_zone()
        tasks.follow_publications()
        make_zone(name="two.test.")
        tasks.drive_secondaries()
    assert {"example.test.", "two.test."} <= set(told(server))
    Member.objects.all().delete()
    tasks.follow_members()
    assert Member.objects.count() == 2
    assert members.head() == 2
