"""Tests of webhook deliveries to a real receiver, until they succeed or are given up."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.models import AuditEntry, GrantRow, User
from dnspanel.webhooks import deliver_events, hooks
from dnspanel.webhooks.deliver_events import LEAST_FAILURES, MOST_ATTEMPTS, PATIENCE, WAITS, deliver_next
from dnspanel.webhooks.errors import WebhookUnknown
from dnspanel.webhooks.models import Delivery, Event, Webhook
from dnspanel.webhooks.post import Answer, post
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.happening import give, later, notice_all, publish
from tests.dnspanel.webhooks.receiver import Receiver, is_signed
from tests.mailserver import MailServer
from tests.people import NOW


def send_all(webhook: Webhook, now: datetime = NOW) -> int:
    """Make all due attempts of the webhook. Return their number."""
    attempts = 0
    while deliver_next(webhook_id=webhook.pk, clock=lambda: now):
        attempts += 1
    return attempts


def only() -> Delivery:
    return Delivery.objects.get()


def test_an_event_arrives_signed(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url)
    publish("one.test.", bob)
    notice_all()
    assert send_all(made.webhook) == 1
    [received] = receiver.received
    assert is_signed(received, made.secret, at=NOW)
    assert not is_signed(received, "whsec_AAAA", at=NOW)
    assert received.headers["webhook-id"] == Event.objects.get().message_id
    assert b'"event":"publication.saved"' in received.body
    found = only()
    assert (found.state, found.status, found.answer, found.error, found.attempts) == ("delivered", 200, "ok", "", 1)
    assert found.next_at is None
    assert found.ms is not None


def test_events_arrive_in_their_order(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url)
    for number in range(5):
        publish(f"n{number}.test.", bob)
    notice_all()
    assert send_all(made.webhook) == 5
    ids = [f"evt_{uid.hex}" for uid in Event.objects.order_by("pk").values_list("uid", flat=True)]
    assert [received.headers["webhook-id"] for received in receiver.received] == ids


def test_what_failed_comes_later_with_the_same_number_and_so_the_receiver_sees_a_gap_until_then(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    """Review A14: after a 500 for one event, later events came first. The meaning of `number` was undocumented."""
    made = webhook(bob, receiver.url, "publication.saved").webhook
    for number in range(3):
        publish(f"n{number}.test.", bob)
    notice_all()
    receiver.answer(500)
    assert send_all(made) == 3
    assert send_all(made, later(5)) == 1
    sent = [json.loads(received.body) for received in receiver.received]
    assert [(body["number"], body["data"]["sequence"]) for body in sent] == [(1, 1), (2, 2), (3, 3), (1, 1)]
    assert [received.headers["webhook-id"] for received in receiver.received] == [body["event_id"] for body in sent]
    hooks.replay_delivery(delivery=Delivery.objects.get(webhook=made, number=2), by=bob, now=later(6))
    other = webhook(bob, receiver.url, "publication.saved").webhook
    publish("n3.test.", bob, now=later(6))
    notice_all(later(6))
    send_all(made, later(6))
    assert [json.loads(received.body)["number"] for received in receiver.received[4:]] == [2, 4]
    assert list(Delivery.objects.filter(webhook=other).values_list("number", flat=True)) == [1]


def test_after_a_rotation_either_secret_checks_the_signature(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url)
    newer = hooks.rotate_secret(webhook=made.webhook, by=bob, now=NOW)
    hooks.send_ping(webhook=made.webhook, by=bob, now=NOW)
    send_all(made.webhook)
    assert is_signed(receiver.received[0], made.secret, at=NOW)
    assert is_signed(receiver.received[0], newer, at=NOW)


def test_a_failure_is_tried_again_after_growing_waits_and_then_given_up(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url)
    hooks.send_ping(webhook=made.webhook, by=bob, now=NOW)
    now, waits = NOW, []
    for _ in range(MOST_ATTEMPTS):
        receiver.answer(500, body=b"broken")
        assert send_all(made.webhook, now) == 1
        found = only()
        assert (found.status, found.error, found.answer) == (500, "The receiver returned HTTP status 500.", "broken")
        if found.next_at is not None:
            assert found.state == "waiting"
            assert send_all(made.webhook, found.next_at - timedelta(seconds=1)) == 0
            waits.append(found.next_at - now)
            now = found.next_at
    assert tuple(waits) == WAITS
    assert timedelta(hours=20) < sum(waits, timedelta()) < timedelta(hours=30)
    assert (only().state, only().attempts) == ("failed", MOST_ATTEMPTS)
    assert send_all(made.webhook, now + timedelta(days=2)) == 0
    assert len({(r.headers["webhook-id"], r.body) for r in receiver.received}) == 1
    assert len({r.headers["webhook-timestamp"] for r in receiver.received}) == MOST_ATTEMPTS


def test_a_second_attempt_that_succeeds_ends_the_failing(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    receiver.answer(503)
    send_all(made)
    made.refresh_from_db()
    assert (made.failing_since, made.failures) == (NOW, 1)
    assert send_all(made, later(5)) == 1
    made.refresh_from_db()
    assert (only().state, only().attempts, only().error) == ("delivered", 2, "")
    assert (made.failing_since, made.failures, made.resting_until) == (None, 0, None)


def test_nobody_there_and_a_refused_address_are_failures_in_words(
    bob: User, webhook: MakeWebhook, receiver: Receiver, settings: Any
) -> None:
    made = webhook(bob, "http://receiver.test:1024/").webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    send_all(made)
    assert (only().status, only().error) == (
        None,
        "Couldn’t connect to receiver.test, port 1024: Connection refused.",
    )
    settings.OUTBOUND_NETWORKS = []
    send_all(made, later(60))
    assert "a public address" in only().error


def test_a_redirect_is_a_failure_that_says_what_to_do(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    receiver.answer(308, Location="/elsewhere")
    send_all(made)
    assert "redirects aren’t followed" in only().error


def test_a_receiver_that_asks_for_time_gets_it(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    receiver.answer(429, Retry_After="90")
    send_all(made)
    assert only().next_at == later(90)
    receiver.answer(429, Retry_After="999999999")
    send_all(made, later(90))
    assert only().next_at == later(90) + timedelta(days=1)


def test_a_receiver_that_is_down_is_left_alone_for_longer_and_longer(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    """Otherwise a thousand waiting events would cause a thousand timeouts."""
    made = webhook(bob, receiver.url).webhook
    for number in range(20):
        publish(f"n{number}.test.", bob)
    notice_all()
    for _ in range(10):
        receiver.answer(502)
    assert send_all(made) == 2
    assert send_all(made, later(4)) == 0
    assert deliver_events.webhooks_with_due(now=later(4)) == []
    assert deliver_events.webhooks_with_due(now=later(5)) == [made.pk]
    assert send_all(made, later(5)) == 1
    assert send_all(made, later(34)) == 0
    receiver.answers.clear()
    assert send_all(made, later(40)) == 20
    assert not Delivery.objects.exclude(state="delivered").exists()


def test_a_webhook_that_fails_for_three_days_is_switched_off_and_says_so(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url).webhook
    now = NOW
    while Webhook.objects.get().active:
        assert now - NOW < timedelta(days=5)
        if not Delivery.objects.filter(state="waiting").exists():
            hooks.send_ping(webhook=made, by=bob, now=now)
        receiver.answer(500)
        send_all(made, now)
        now += timedelta(hours=3)
    made.refresh_from_db()
    assert made.disabled_at is not None
    assert PATIENCE <= made.disabled_at - NOW <= PATIENCE + WAITS[-1]
    assert made.disabled_reason.startswith("All deliveries failed for 3 days. Last error: The receiver returned")
    assert made.failures >= LEAST_FAILURES
    assert not Delivery.objects.filter(state="waiting").exists()
    assert AuditEntry.objects.filter(action="webhook.off", user=None, details__webhook=made.pk).count() == 1
    publish("one.test.", bob, now=now)
    notice_all(now)
    assert not Delivery.objects.filter(state="waiting").exists()


def test_two_failures_days_apart_switch_nothing_off(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    receiver.answer(500)
    receiver.answer(500)
    send_all(made, NOW)
    send_all(made, NOW + 2 * PATIENCE)
    made.refresh_from_db()
    assert made.active


def test_gone_for_good_switches_off_at_once(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    receiver.answer(410)
    assert send_all(made) == 1
    made.refresh_from_db()
    assert (made.active, only().state) == (False, "failed")
    assert "410" in made.disabled_reason


def test_a_sender_killed_between_sending_and_recording_sends_the_same_again(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)

    def send_and_die(url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        post(url, headers, body)
        raise SystemExit

    with pytest.raises(SystemExit):
        deliver_next(webhook_id=made.pk, clock=lambda: NOW, send=send_and_die)
    assert (only().state, only().attempts) == ("waiting", 0)
    assert send_all(made) == 1
    first, second = receiver.received
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)


def test_of_two_senders_one_records(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)

    def other_first(url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        deliver_next(webhook_id=made.pk, clock=lambda: NOW)
        return Answer(500, "", 1.0)

    deliver_next(webhook_id=made.pk, clock=lambda: NOW, send=other_first)
    made.refresh_from_db()
    assert (only().state, only().attempts, made.failures) == ("delivered", 1, 0)


def test_a_replay_has_the_same_id_and_stands_beside_the_first(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url).webhook
    publish("one.test.", bob)
    notice_all()
    send_all(made)
    hooks.replay_delivery(delivery=only(), by=bob, now=later(60))
    assert send_all(made, later(60)) == 1
    first, second = receiver.received
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    assert list(Delivery.objects.values_list("state", flat=True)) == ["delivered"] * 2


def test_nothing_is_sent_of_what_the_owner_may_not_see_any_more(
    bob: User, member: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    publish("mine.test.", bob)
    give(member, "mine.test.")
    made = webhook(member, receiver.url, "publication.saved").webhook
    Event.objects.create(uid=uuid4(), kind="publication.saved", subject="x", at=NOW, facts={"sequence": 1})
    Delivery.objects.create(webhook=made, event=Event.objects.get(), number=1, created_at=NOW, next_at=NOW)
    GrantRow.objects.all().delete()
    assert send_all(made) == 1
    assert receiver.received == []
    assert (only().state, only().error) == ("failed", "The webhook’s owner no longer has access to this event.")
    made.refresh_from_db()
    assert made.failing_since is None


def test_a_webhook_whose_owner_left_is_switched_off_and_says_so(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    User.objects.update(is_active=False)
    assert send_all(made) == 0
    made.refresh_from_db()
    assert (made.active, made.disabled_reason) == (False, "The webhook owner’s account is closed.")
    assert receiver.received == []
    assert only().state == "failed"


def test_the_log_is_kept_for_thirty_days(bob: User, webhook: MakeWebhook, receiver: Receiver) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    send_all(made)
    hooks.send_ping(webhook=made, by=bob, now=NOW)  # is still waiting
    hooks.send_ping(webhook=made, by=bob, now=NOW + timedelta(days=2))
    assert deliver_events.forget_old_deliveries(now=NOW + timedelta(days=29)) == 0
    assert deliver_events.forget_old_deliveries(now=NOW + timedelta(days=31)) == 1
    assert (Delivery.objects.count(), Event.objects.count()) == (2, 2)


def test_people_get_what_happened_within_a_short_time_as_one_message(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url, format="slack").webhook
    for number in range(3):
        publish(f"n{number}.test.", bob)
    notice_all()
    assert send_all(made) == 0
    assert send_all(made, later(10)) == 1
    [received] = receiver.received
    lines = json.loads(received.body)["text"].splitlines()
    assert [line.partition(" in ")[2].partition(":")[0] for line in lines] == [
        f"n{number}.test." for number in range(3)
    ]
    assert "webhook-signature" not in received.headers
    assert set(Delivery.objects.values_list("state", "attempts")) == {("delivered", 1)}


def test_a_message_that_a_chat_refuses_is_one_failure_and_comes_whole_again(
    bob: User, webhook: MakeWebhook, receiver: Receiver
) -> None:
    made = webhook(bob, receiver.url, format="mattermost").webhook
    publish("one.test.", bob)
    publish("two.test.", bob)
    notice_all()
    receiver.answer(500)
    send_all(made, later(10))
    made.refresh_from_db()
    assert made.failures == 1
    send_all(made, later(60))
    assert [received.body for received in receiver.received[1:]] == [receiver.received[0].body]


def test_mail_goes_to_its_owner_and_is_stopped_by_its_link(
    bob: User, webhook: MakeWebhook, mail_server: MailServer, settings: Any
) -> None:
    settings.PANEL_URL = "https://panel.test"
    made = webhook(bob, "", format="mail").webhook
    publish("one.test.", bob)
    notice_all()
    assert send_all(made, later(10)) == 1
    [mail] = mail_server.mails
    assert mail.to == [bob.email]
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stop = mail.message["List-Unsubscribe"].strip(" <>")
    assert stop in mail.text
    key = stop.removeprefix("https://panel.test/stop-mails/").removesuffix("/")
    assert hooks.webhook_of_stop_key(key) == made
    hooks.stop_mails(webhook=made, now=NOW)
    made.refresh_from_db()
    assert (made.active, made.disabled_reason) == (False, "Stopped via the link in an email.")
    assert AuditEntry.objects.filter(action="webhook.off", target="mail").count() == 1


@pytest.mark.parametrize("key", ["", "1", "1:x", "x:y", "9" * 400])
def test_a_key_that_is_not_whole_stops_nothing(db: None, key: str) -> None:
    with pytest.raises(WebhookUnknown):
        hooks.webhook_of_stop_key(key)


def test_mail_that_no_server_takes_is_tried_again(bob: User, webhook: MakeWebhook, mail_server: MailServer) -> None:
    made = webhook(bob, "", format="mail").webhook
    mail_server.break_down()
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    send_all(made)
    assert (only().state, only().error) == (
        "waiting",
        f"The mail server 127.0.0.1, port {mail_server.port} rejected the email: "
        "451 4.3.0 the disk is full, try again.",
    )
