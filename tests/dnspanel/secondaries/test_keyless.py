"""Tests of keyless transfers to networks, and of NOTIFY to the addresses that a zone lists."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import dns.message
import dns.rcode
import pytest

from dnspanel import wake as waking
from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import actor_by_token, create_token
from dnspanel.secondaries import access, keyless, notices, tasks
from dnspanel.secondaries.errors import KeylessRefused, TransferRefused
from dnspanel.secondaries.models import Member, NoticeAddress, OpenZone
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.secondaries.test_notices import KEY, NameServer, signed_answer
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def at_home(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(notices, "_SECONDS", 0.2)


def clock(at: datetime = NOW) -> Callable[[], datetime]:
    return lambda: at


def notify(zone: Zone, by: User, *addresses: str) -> None:
    keyless.notify_also(zone=zone, addresses=addresses, by=by, now=NOW)


def put(zone: Zone, by: User) -> None:
    rrset = rr("www 300 A 192.0.2.7", origin=zone.name)
    change_rrsets(zone=zone, changes={(rrset.name, rrset.type): rrset}, author=by, channel=Channel.API, now=NOW)


def test_a_zone_is_open_to_the_networks_that_it_names_and_to_nobody_else(
    zone: Zone, make_zone: MakeZone, alice: User
) -> None:
    make_zone(name="closed.test.")
    keyless.open_to(zone=zone, networks=["192.0.2.0/24", "2001:db8::1"], by=alice, now=NOW)
    assert access.zone_open_to(zone.name, "192.0.2.200") == zone
    assert access.zone_open_to(zone.name, "2001:db8::1") == zone
    said = set()
    for name, address in ((zone.name, "192.0.3.1"), ("closed.test.", "192.0.2.1"), ("none.test.", "192.0.2.1")):
        with pytest.raises(TransferRefused) as refused:
            access.zone_open_to(name, address)
        said.add(str(refused.value))
    assert len(said) == 1, "nobody learns by it which zones there are"
    keyless.open_to(zone=zone, networks=[], by=alice, now=NOW)
    assert not OpenZone.objects.exists()
    assert AuditEntry.objects.filter(action="zone.open").count() == 2


def test_who_may_not_change_the_zone_or_sees_a_part_of_it_opens_nothing(zone: Zone, alice: User, charlie: User) -> None:
    with pytest.raises(RightMissing):
        keyless.open_to(zone=zone, networks=["192.0.2.1"], by=charlie, now=NOW)
    with pytest.raises(RightMissing):
        notify(zone, charlie, "9.9.9.9")
    scope = (Grant(EVERY_RIGHT, everywhere=True, names=("_acme-challenge.*",)),)
    made = create_token(owner=alice, terms=TokenTerms("acme", scope), by=alice, now=NOW)
    part: Actor = actor_by_token(token=made.token, address="192.0.2.1", now=NOW)
    with pytest.raises(KeylessRefused, match="Only people who can see all records in a zone"):
        keyless.open_to(zone=zone, networks=["192.0.2.1"], by=part, now=NOW)
    assert not OpenZone.objects.exists()
    assert not NoticeAddress.objects.exists()


def test_what_is_no_network_and_where_the_panel_does_not_send_is_refused(zone: Zone, alice: User) -> None:
    with pytest.raises(KeylessRefused, match="all isn’t a valid network"):
        keyless.open_to(zone=zone, networks=["192.0.2.0/24", "all"], by=alice, now=NOW)
    with pytest.raises(KeylessRefused, match="PANEL_SECONDARY_NETWORKS"):
        notify(zone, alice, "10.0.0.1")
    with pytest.raises(KeylessRefused, match="at most 8"):
        notify(zone, alice, *(f"9.9.9.{number}" for number in range(9)))
    assert not OpenZone.objects.exists()
    assert not NoticeAddress.objects.exists()


def test_each_publication_is_told_to_the_addresses_once_unsigned_and_again_where_nobody_answers(
    zone: Zone, make_zone: MakeZone, alice: User
) -> None:
    other = make_zone(name="other.test.")
    with NameServer(KEY, signed_answer) as server:
        notify(zone, alice, server.address, "127.0.0.1:1")
        assert notices.send_to_addresses(clock=clock()) == notices.Sent(2, 1)
        assert notices.send_to_addresses(clock=clock()) == notices.Sent()
        assert keyless.note_publications(now=NOW) == 0, "what was published before is nothing new"
        put(zone, alice)
        put(other, alice)
        assert keyless.note_publications(now=NOW) == 2
        assert keyless.note_publications(now=NOW) == 0
        assert notices.send_to_addresses(clock=clock()).answered == 1
    told = [query.question[0].name.to_text() for query in server.received]
    assert told == [zone.name, zone.name]
    assert not any(query.had_tsig for query in server.received)
    heard, silent = NoticeAddress.objects.order_by("-address")
    assert (heard.notify_at, heard.notified_at, heard.notify_error) == (None, NOW, "")
    assert (silent.notify_at, silent.attempts) == (NOW + notices.WAITS[0], 1)
    assert "couldn’t be reached" in silent.notify_error


def test_an_answer_of_refused_is_no_answer_and_another_one_is_not_taken_for_it(zone: Zone, alice: User) -> None:
    def refusing(query: dns.message.Message) -> dns.message.Message:
        answer = signed_answer(query)
        answer.set_rcode(dns.rcode.REFUSED)
        return answer

    for decide, error in (
        (refusing, "The server answered REFUSED."),
        (lambda query: b"\0" * 12, "The server didn’t respond."),
    ):
        with NameServer(KEY, decide) as server:
            NoticeAddress.objects.all().delete()
            notify(zone, alice, server.address)
            notices.send_to_addresses(clock=clock())
        assert NoticeAddress.objects.get().notify_error == error


def test_workers_are_woken_for_addresses_alone_too_and_a_zone_is_told_of_on_request(
    zone: Zone, alice: User, monkeypatch: pytest.MonkeyPatch, make_secondary: MakeSecondary
) -> None:
    woken: list[str] = []
    for module in (tasks, waking):
        monkeypatch.setattr(module, "wake", lambda task, *args: woken.append(task.name.rpartition(".")[2]))
    assert keyless.notify_zone(zone=zone, now=NOW) == 0
    with NameServer(KEY, signed_answer) as server:
        notify(zone, alice, server.address)
        assert woken == ["drive_secondaries"]
        tasks.wake_after_publication()
        tasks.drive_secondaries()
        assert woken[1:] == ["follow_publications", "notify_addresses"]
        tasks.notify_addresses()
        put(zone, alice)
        tasks.follow_publications()
        tasks.notify_addresses()
        assert len(server.received) == 2
    make_secondary()
    Member.objects.update(notify_at=None)
    assert keyless.notify_zone(zone=zone, now=NOW) == 2
    assert Member.objects.get().notify_at == NOW
