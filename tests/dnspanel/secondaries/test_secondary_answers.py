"""Tests of queries to secondaries, which decide whether one is in sync, behind or silent."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dns.message
import dns.rcode
import dns.rrset
import pytest

from dnspanel.accounts.models import User
from dnspanel.secondaries import members, secondary_answers, secondary_keys, tasks, udp_exchange
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.queries import LateSecondary, late_secondaries
from dnspanel.zones.models import Zone
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.secondaries.server import NameServer, signed_answer, tls_server
from tests.dnspanel.secondaries.test_members import publish
from tests.dnspanel.zones.conftest import MakeZone
from tests.own_certificates import own_certificate
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(minutes=10)


@pytest.fixture(autouse=True)
def at_home(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow secondaries on this machine, and shorten the wait for a silent server."""
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(secondary_answers, "_SECONDS", 0.2)


def serving(serials: dict[str, int]) -> Callable[[dns.message.Message], dns.message.Message]:
    """Return a function that answers SOA queries with these serials, and with REFUSED for other zones."""

    def decide(query: dns.message.Message) -> dns.message.Message:
        answer, name = signed_answer(query), query.question[0].name.to_text()
        if name in serials:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "SOA", f"a. b. {serials[name]} 1 1 1 1"))
        else:
            answer.set_rcode(dns.rcode.REFUSED)
        return answer

    return decide


def ask(secondary: Secondary, decide: Any, at: datetime = NOW) -> secondary_answers.Sent:
    with NameServer(secondary_keys.key_of(secondary), decide) as server:
        Secondary.objects.filter(pk=secondary.pk).update(addresses=[server.address])
        return secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: at)


def test_one_with_a_port_for_it_is_asked_over_tls_by_its_certificate(
    zone: Zone, make_secondary: MakeSecondary, tmp_path: Path
) -> None:
    own, other = own_certificate(), own_certificate()
    secondary = make_secondary()

    def answering(queries: list[dns.message.Message]) -> list[bytes]:
        return [serving({zone.name: zone.serial})(each).to_wire() for each in queries]

    for certificate, error, served in (
        (other, "The server’s TLS certificate doesn’t match the", None),
        (own, "", zone.serial),
    ):
        key = secondary_keys.key_of(secondary)
        with tls_server(tmp_path, certificate, answering, key=key) as (host, port):
            Secondary.objects.update(addresses=[f"{host}:1"], tls_port=port, certificate=own.certificate)
            Member.objects.update(question_at=NOW)
            secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: NOW)
        member = Member.objects.get()
        assert error in member.question_error
        assert member.served_serial == served


def test_only_the_published_serial_is_in_sync(zone: Zone, alice: User, make_secondary: MakeSecondary) -> None:
    secondary = make_secondary()
    sent = ask(secondary, serving({zone.name: zone.serial}))
    assert (sent.sent, sent.answered) == (1, 1)
    member = Member.objects.get()
    assert (member.served_serial, member.served_at, member.behind_since) == (zone.serial, NOW, None)
    assert member.question_at == NOW + secondary_answers.ROUND
    publish(zone, alice, "www 300 A 192.0.2.77")
    members.note_publications(now=LATER)
    assert secondary_answers.secondaries_with_due(now=LATER) == [secondary.pk]
    ask(secondary, serving({zone.name: zone.serial}), LATER)
    member = Member.objects.get()
    assert member.behind_since == NOW, "when the publication was"
    assert member.question_at == LATER + timedelta(seconds=150), "a quarter of ten minutes"
    ask(secondary, serving({zone.name: zone.serial + 1}), LATER + timedelta(hours=1))
    assert Member.objects.get().behind_since is None


def test_one_that_is_behind_for_long_after_it_was_told_is_told_again(
    zone: Zone, alice: User, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary()
    publish(zone, alice, "www 300 A 192.0.2.77")
    members.note_publications(now=NOW)
    for seconds, is_told in ((1, False), (14, False), (15, True)):
        at = NOW + timedelta(seconds=seconds)
        Member.objects.update(notify_at=None, notified_at=NOW, question_at=at)
        ask(secondary, serving({zone.name: zone.serial}), at)
        assert Member.objects.get().notify_at == (at if is_told else None)
    at = NOW + timedelta(seconds=60)
    Member.objects.update(notify_at=None, notified_at=NOW, question_at=at)
    ask(secondary, serving({zone.name: zone.serial + 1}), at)
    assert Member.objects.get().notify_at is None, "it has it"


def test_what_is_published_while_the_secondary_is_asked_is_asked_for_soon_and_not_in_an_hour(
    zone: Zone, alice: User, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary()
    soon = NOW + timedelta(seconds=2)

    def send(messages: Any, **how: Any) -> Any:
        answers = udp_exchange.exchange(messages, **how)
        if Zone.objects.filter(pk=zone.pk, revision=zone.revision).exists():
            publish(zone, alice, "www 300 A 192.0.2.77")
            members.note_publications(now=NOW + timedelta(seconds=1))
        return answers

    with NameServer(secondary_keys.key_of(secondary), serving({zone.name: zone.serial})) as server:
        Secondary.objects.filter(pk=secondary.pk).update(addresses=[server.address])
        secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: NOW, send=send)
    assert secondary_answers.secondaries_with_due(now=soon) == [secondary.pk]
    Member.objects.update(question_at=NOW)
    secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: NOW, send=silent_then_published)
    assert Member.objects.get().question_at == soon


def silent_then_published(messages: Any, **_: Any) -> Any:
    Member.objects.update(question_at=NOW + timedelta(seconds=2))
    return [udp_exchange.Answer("The server didn’t respond.")] * len(messages)


def test_one_that_lost_a_zone_is_behind_though_nothing_was_published(zone: Zone, make_secondary: MakeSecondary) -> None:
    secondary = make_secondary()
    ask(secondary, serving({zone.name: zone.serial}))
    later = NOW + secondary_answers.ROUND
    ask(secondary, serving({zone.name: 0}), later)
    assert Member.objects.get().behind_since == later
    ask(secondary, serving({}), later + secondary_answers.LATEST)
    assert Member.objects.get().question_error == "The server answered REFUSED."
    assert Secondary.objects.get().silent_since is None, "it did answer"


def test_who_does_not_answer_is_silent_from_then_on_and_asked_no_more_than_once_a_minute(
    zone: Zone, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary(lag_bound=60)
    Member.objects.update(behind_since=None)
    assert ask(secondary, lambda query: None).answered == 0
    assert ask(secondary, lambda query: None, NOW + timedelta(seconds=59)) == secondary_answers.Sent()
    ask(secondary, lambda query: None, NOW + timedelta(seconds=60))
    assert Secondary.objects.get().silent_since == NOW
    assert late_secondaries(NOW + timedelta(seconds=59)) == []
    assert late_secondaries(NOW + timedelta(seconds=60)) == [LateSecondary("partner", 0, "", None, NOW, secondary.pk)]
    ask(secondary, serving({zone.name: zone.serial}), NOW + timedelta(seconds=120))
    assert Secondary.objects.get().silent_since is None
    assert late_secondaries(LATER) == []


def test_of_what_was_just_published_or_transferred_it_is_asked_again_soon(
    zone: Zone, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary()
    assert Member.objects.get().behind_since == NOW
    for seconds, again in ((0, 1), (20, 5), (60, 60), (3600, 60)):
        now = NOW + timedelta(seconds=seconds)
        Member.objects.update(question_at=now)
        ask(secondary, lambda query: None, now)
        assert Member.objects.get().question_at == now + timedelta(seconds=again)
    # After a transfer, it is no longer behind, but it isn't known to serve the zone either.
    Secondary.objects.update(silent_since=None)
    Member.objects.update(behind_since=None, transferred_at=LATER, question_at=LATER)
    ask(secondary, lambda query: None, LATER)
    assert Member.objects.get().question_at == LATER + timedelta(seconds=1)


def test_those_behind_for_longer_than_their_bound_are_found_by_one_query(
    make_zone: MakeZone, make_secondary: MakeSecondary, django_assert_num_queries: Any
) -> None:
    for name in ("a.test.", "b.test."):
        make_zone(name=name)
    soon = make_secondary("soon", lag_bound=60)
    make_secondary("patient", lag_bound=3600)
    make_secondary("off", active=False)
    Member.objects.filter(zone_name="a.test.").update(behind_since=NOW - timedelta(seconds=1))
    with django_assert_num_queries(1):
        found = late_secondaries(NOW + timedelta(seconds=61))
    assert found == [LateSecondary("soon", 2, "a.test.", NOW - timedelta(seconds=1), None, soon.pk)]


def test_a_silent_server_costs_one_window_and_not_one_for_each(
    make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    for number in range(70):
        make_zone(name=f"z{number}.test.")
    secondary = make_secondary()
    with NameServer(secondary_keys.key_of(secondary), lambda query: None) as server:
        Secondary.objects.update(addresses=[server.address])
        Member.objects.update(question_at=NOW, behind_since=None)
        assert secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: NOW) == secondary_answers.Sent(70, 0)
    assert len(server.received) <= 64
    assert set(Member.objects.values_list("question_at", flat=True)) == {NOW + secondary_answers.AFTER_SILENCE}


def test_the_round_of_many_zones_takes_longer_than_an_hour(secondary: Secondary, zone: Zone) -> None:
    Member.objects.all().delete()
    Member.objects.bulk_create(
        Member(secondary=secondary, zone=None, zone_name=f"z{number}.", label=str(number), since=1)
        for number in range(members.PER_SECOND * 3600 + 200)
    )
    assert secondary_answers._round_of(secondary) == timedelta(seconds=3610)


def test_beat_finds_who_is_to_be_asked(
    zone: Zone, make_secondary: MakeSecondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "wake_each", lambda task, ids: [task(id) for id in ids if task == tasks.ask_secondary])
    monkeypatch.setattr(tasks, "wake", lambda task, *args: None)
    secondary = make_secondary()
    with NameServer(secondary_keys.key_of(secondary), serving({zone.name: zone.serial})) as server:
        Secondary.objects.update(addresses=[server.address])
        tasks.drive_secondaries()
    assert Member.objects.get().served_serial == zone.serial
