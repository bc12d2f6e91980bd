"""Tests of delivery: each destination gets every entry at least once, in chain order, and resumes at its position."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.audit.forward import deliver_acts
from dnspanel.audit.forward.act_records import Sender
from dnspanel.audit.forward.errors import NotSent
from dnspanel.audit.forward.models import Destination, Kind
from dnspanel.audit.forward.send import Sent, Target
from dnspanel.zones.audit.audit_trail import GONE, Act
from dnspanel.zones.audit.audit_verify import Anchor, verify_chain
from dnspanel.zones.models import AuditLink
from tests.dnspanel.audit.forward.conftest import MakeDestination, linked
from tests.dnspanel.audit.forward.rsyslog import running_rsyslog
from tests.dnspanel.webhooks.receiver import HOST, Receiver
from tests.dnspanel.zones.conftest import MakeZone, make_zone
from tests.own_certificates import own_certificate
from tests.people import NOW

__all__ = ["make_zone"]

pytestmark = pytest.mark.django_db


def deliver_all(destination: Destination, *, now: datetime = NOW, **more: Any) -> int:
    """Deliver all batches to the destination. Return their number."""
    batches = 0
    while deliver_acts.deliver_next(destination_id=destination.pk, clock=lambda: now, **more):
        batches += 1
    destination.refresh_from_db()
    return batches


class Refusing:
    """A destination that fails as scripted, and otherwise keeps the entries that it gets."""

    def __init__(self, *failures: NotSent | None) -> None:
        self.failures, self.taken = list(failures), list[int | None]()

    def __call__(self, target: Target, acts: Sequence[Act], *, sender: Sender, now: datetime) -> Sent:
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.taken += [act.number for act in acts]
        return Sent(len(acts))


def test_a_publication_and_entries_arrive_at_rsyslog_with_the_numbers_and_hashes_of_the_chain(
    tmp_path: Path, make_destination: MakeDestination, alice: User, make_zone: MakeZone
) -> None:
    server = own_certificate(HOST)
    with running_rsyslog(tmp_path, server=server.certificate + server.key) as rsyslog:
        destination = make_destination(f"{HOST}:{rsyslog.port}", Kind.SYSLOG, ca=server.certificate)
        make_zone("www 300 A 192.0.2.1")
        linked(alice, "team.create", "team.change", role="reader")
        assert deliver_all(destination) == 1
        found = rsyslog.messages()
    rows = [json.loads(each["text"]) for each in found]
    chain = list(AuditLink.objects.order_by("number"))
    assert [(row["number"], row["hash"]) for row in rows] == [(link.number, bytes(link.chain).hex()) for link in chain]
    assert {"evidence.create", "publish", "team.create", "team.change"} <= {row["action"] for row in rows}
    # The sent entries can later serve as proof: the chain still has this hash at this number.
    assert verify_chain([Anchor(rows[-1]["number"], bytes.fromhex(rows[-1]["hash"]))]).faults == ()
    assert (destination.sent_to, destination.sent_at, destination.error) == (len(chain), NOW, "")


def test_batches_follow_each_other_in_order_from_where_the_destination_was(
    make_destination: MakeDestination, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver_acts, "BATCH", 3)
    destination = make_destination("https://127.0.0.1/v1/logs")
    linked(alice, *(f"team.{number}" for number in range(7)))
    taking = Refusing()
    assert deliver_all(destination, send=taking) == 3
    assert taking.taken == list(range(1, 9))
    assert deliver_all(destination, send=taking) == 0
    linked(alice, "team.more")
    assert deliver_acts.destinations_with_due(now=NOW) == [destination.pk]
    assert deliver_all(destination, send=taking) == 1
    assert taking.taken == list(range(1, 10))
    assert deliver_acts.destinations_with_due(now=NOW) == []


def test_a_failure_moves_nothing_rests_longer_each_time_and_is_over_with_a_success(
    make_destination: MakeDestination, alice: User
) -> None:
    destination = make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")
    now, rests = NOW, []
    refusing = Refusing(*[NotSent("It is away.")] * 5)
    for _ in range(5):
        assert deliver_all(destination, now=now, send=refusing) == 0
        assert (destination.sent_to, destination.error, destination.failing_since) == (0, "It is away.", NOW)
        rests.append((destination.resting_until - now).total_seconds())
        assert deliver_acts.destinations_with_due(now=now) == []
        assert deliver_all(destination, now=now, send=refusing) == 0
        now = destination.resting_until
        assert deliver_acts.destinations_with_due(now=now) == [destination.pk]
    assert (rests, destination.failures, refusing.failures) == ([5, 15, 60, 300, 300], 5, [])
    assert deliver_all(destination, now=now, send=refusing) == 1
    assert refusing.taken == [1, 2]
    assert (destination.sent_to, destination.failures, destination.error) == (2, 0, "")
    assert (destination.failing_since, destination.resting_until) == (None, None)


@pytest.mark.parametrize(("says", "rests"), [(40, 40), (86_400, 3600)], ids=["seconds", "a day"])
def test_it_rests_for_as_long_as_it_says_within_an_hour(
    says: int, rests: int, make_destination: MakeDestination, alice: User
) -> None:
    destination = make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")
    deliver_all(destination, send=Refusing(NotSent("The receiver returned HTTP status 429.", retry_after=says)))
    assert destination.resting_until == NOW + timedelta(seconds=rests)


def test_what_was_sent_before_the_destination_was_changed_does_not_count_for_it_now(
    make_destination: MakeDestination, alice: User
) -> None:
    destination = make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")

    def changed_meanwhile(target: Target, acts: Sequence[Act], *, sender: Sender, now: datetime) -> Sent:
        Destination.objects.update(version=2, address="https://127.0.0.1:8443/v1/logs")
        return Sent(len(acts))

    assert deliver_all(destination, send=changed_meanwhile) == 0
    assert destination.sent_to == 0
    Destination.objects.update(active=False)
    assert deliver_all(destination, send=Refusing()) == 0


def test_an_act_that_is_gone_is_told_with_its_number_and_hash(make_destination: MakeDestination, alice: User) -> None:
    with Receiver() as receiver:
        destination = make_destination(receiver.url)
        linked(alice, "team.create", "team.delete")
        AuditEntry.objects.filter(action="team.create").delete()
        receiver.answer(200, body=b'{"partialSuccess": {"rejectedLogRecords": 1, "errorMessage": "no"}}')
        assert deliver_all(destination) == 1
        request = json.loads(receiver.received[0].body)
    records = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    rows = [json.loads(record["body"]["stringValue"]) for record in records]
    assert [row["action"] for row in rows] == ["evidence.create", GONE, "team.delete"]
    assert rows[1]["hash"] == bytes(AuditLink.objects.get(number=2).chain).hex()
    # The destination answered. Entries that it rejected aren't sent again, and the page reports them.
    assert (destination.sent_to, destination.rejected) == (3, "The receiver rejected log entries (1). Reason: no")
