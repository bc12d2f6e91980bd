"""Tests of alert delivery to a real mail server and a real webhook receiver: messages are combined and retried."""

import json
from datetime import UTC, datetime, time, timedelta

from dnspanel.alerts import routes
from dnspanel.alerts.deliver_alerts import MOST_ATTEMPTS, WAITS, deliver_all, deliver_next, routes_with_due
from dnspanel.alerts.models import Message, Route
from dnspanel.alerts.watch import GATHER, OVER_AFTER, keep
from dnspanel.conditions import Condition, Severity
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.dnspanel.webhooks.receiver import Receiver, is_signed
from tests.mailserver import MailServer
from tests.people import NOW


def late(number: int = 1, severity: Severity = Severity.WARNING) -> Condition:
    return Condition(f"node.standing:ns{number}", "node.late", severity, f"ns{number} is late")


def later(**time: float) -> datetime:
    return NOW + timedelta(**time)


def send(route: Route, now: datetime) -> bool:
    return deliver_next(route_id=route.pk, clock=lambda: now)


def states() -> list[str]:
    return [
        "sent" if message.sent_at else "failed" if message.failed_at else "waiting"
        for message in Message.objects.order_by("pk")
    ]


def test_a_hundred_nodes_that_fail_at_once_are_one_mail(route: MakeRoute, mail_server: MailServer) -> None:
    made = route("ops", "mail", "ops@people.test").route
    keep([late(n) for n in range(60)], now=NOW)
    keep([late(n) for n in range(100)], now=later(seconds=5))
    assert not send(made, later(seconds=9))
    assert routes_with_due(now=later(seconds=9)) == []
    assert routes_with_due(now=NOW + GATHER) == [made.pk]
    assert send(made, NOW + GATHER)
    assert not send(made, NOW + GATHER)
    [mail] = mail_server.mails
    assert mail.message["Subject"] == "[dnspanel] Node is late (×100)"
    assert states() == ["sent"] * 100
    sent = Message.objects.latest("pk")
    assert (sent.answer["status"], sent.answer["together"]) == (250, 100)
    keep([], now=later(seconds=5) + OVER_AFTER)
    assert send(made, later(seconds=5) + OVER_AFTER + GATHER)
    assert mail_server.mails[1].message["Subject"] == "[dnspanel] Resolved: Node is late (×100)"


def test_a_webhook_gets_it_signed_by_the_routes_secret(route: MakeRoute, receiver: Receiver) -> None:
    made = route("chat", address=receiver.url)
    keep([late(), late(2)], now=NOW)
    assert send(made.route, later(seconds=10))
    [received] = receiver.received
    assert is_signed(received, made.secret, at=later(seconds=10))
    body = json.loads(received.body)
    assert [alert["sentence"] for alert in body["data"]["raised"]] == ["ns1 is late", "ns2 is late"]
    rotated = routes.rotate_secret(route=made.route, by=None, now=NOW)
    keep([late(), late(2), late(3)], now=later(seconds=20))
    assert send(made.route, later(seconds=30))
    assert is_signed(receiver.received[1], rotated, at=later(seconds=30))
    assert not is_signed(receiver.received[1], made.secret, at=later(seconds=30))


def test_a_failure_is_tried_again_under_the_same_id_and_then_given_up(route: MakeRoute, receiver: Receiver) -> None:
    made = route("chat", address=receiver.url).route
    keep([late()], now=NOW)
    now, waits = NOW + GATHER, []
    for _ in range(MOST_ATTEMPTS):
        receiver.answer(500, body=b"broken")
        assert send(made, now)
        message = Message.objects.get()
        assert (message.answer["error"], message.answer["answer"]) == (
            "The receiver returned HTTP status 500.",
            "broken",
        )
        if message.failed_at is None:
            assert not send(made, message.due_at - timedelta(seconds=1))
            waits.append(message.due_at - now)
            now = message.due_at
    assert tuple(waits) == WAITS
    assert (states(), Message.objects.get().attempts) == (["failed"], MOST_ATTEMPTS)
    assert len({received.headers["webhook-id"] for received in receiver.received}) == 1


def test_what_failed_goes_along_with_what_comes_next(route: MakeRoute, mail_server: MailServer) -> None:
    made = route("ops", "mail", "ops@people.test").route
    mail_server.break_down()
    keep([late()], now=NOW)
    assert send(made, later(seconds=10))
    assert Message.objects.get().answer["error"].endswith("451 4.3.0 the disk is full, try again.")
    mail_server.recover()
    keep([late(), late(2)], now=later(seconds=2))
    assert send(made, later(seconds=12))
    assert states() == ["sent", "sent"]
    assert len(mail_server.mails) == 1


def test_another_set_of_messages_has_another_id(route: MakeRoute, receiver: Receiver) -> None:
    """A receiver drops messages with a known id, so different messages need different ids."""
    made = route("chat", address=receiver.url).route
    receiver.answer(500)
    keep([late()], now=NOW)
    send(made, later(seconds=10))
    keep([late(), late(2)], now=later(seconds=11))
    send(made, later(seconds=21))
    keep([late(severity=Severity.CRITICAL), late(2)], now=later(seconds=40))
    send(made, later(seconds=50))
    assert len({received.headers["webhook-id"] for received in receiver.received}) == 3


def test_after_quiet_hours_one_message_sums_up_the_night(route: MakeRoute, mail_server: MailServer) -> None:
    made = route("sleeper", "mail", "ops@people.test", quiet_from=time(22), quiet_until=time(7)).route
    night = datetime(2026, 11, 21, 23, tzinfo=UTC)
    keep([late(1), late(2)], now=night)
    keep([late(2), late(3, Severity.CRITICAL)], now=night + timedelta(hours=1))
    assert send(made, night + timedelta(hours=1, minutes=1))
    assert [mail.message["Subject"] for mail in mail_server.mails] == ["[dnspanel] ns3 is late"]
    morning = datetime(2026, 11, 22, 7, tzinfo=UTC)
    keep([late(2), late(3)], now=morning - timedelta(minutes=1))
    assert not send(made, morning - timedelta(seconds=1))
    assert send(made, morning)
    summary = mail_server.mails[1]
    assert summary.message["Subject"] == "[dnspanel] 1 alert, 1 resolved"
    assert "ns1 is late" in summary.text
    assert not send(made, morning + timedelta(hours=1))


def test_a_test_is_sent_at_any_hour_by_any_route_and_once(route: MakeRoute, mail_server: MailServer) -> None:
    made = route("off", "mail", "nobody@people.test", quiet_from=time(0), quiet_until=time(23, 59)).route
    routes.switch_route(route=made, active=False, by=None, now=NOW)
    routes.send_test(route=made, by=None, now=NOW)
    assert routes_with_due(now=NOW) == [made.pk]
    assert send(made, NOW)
    message = Message.objects.get()
    assert (states(), message.attempts) == (["failed"], 1)  # a test needs an answer now, not in a day
    assert "550 5.1.1 no such mailbox here" in message.answer["error"]
    assert not send(made, NOW)
    routes.change_route(route=made, terms=routes.RouteTerms("off", "mail", "ops@people.test"), by=None, now=NOW)
    routes.send_test(route=made, by=None, now=NOW)
    deliver_all(route_id=made.pk, clock=lambda: NOW)
    assert mail_server.mails[0].message["Subject"] == "[dnspanel] Test message"
    assert states() == ["failed", "sent"]


def test_a_route_that_is_off_or_gone_sends_nothing(route: MakeRoute, receiver: Receiver) -> None:
    made = route("chat", address=receiver.url).route
    keep([late()], now=NOW)
    Route.objects.update(active=False)
    assert routes_with_due(now=later(hours=1)) == []
    assert not send(made, later(hours=1))
    assert not deliver_next(route_id=made.pk + 1, clock=lambda: NOW)
    assert receiver.received == []


def test_an_address_that_became_private_is_refused_at_the_time_of_sending(route: MakeRoute, settings: object) -> None:
    made = route("chat", address="https://127.0.0.1:1024/").route
    keep([late()], now=NOW)
    assert send(made, later(seconds=10))
    assert "a public address" in Message.objects.get().answer["error"]
