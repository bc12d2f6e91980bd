"""Tests of operations on webhooks by people and tokens."""

from datetime import time, timedelta
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, Right, actor_of_token
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.webhooks import hooks
from dnspanel.webhooks.deliver_events import secrets_of
from dnspanel.webhooks.errors import WebhookRefused, WebhookUnknown
from dnspanel.webhooks.hooks import WebhookTerms
from dnspanel.webhooks.models import Delivery, DeliveryState, EventKind, Watch, Webhook
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.receiver import resolve_to
from tests.people import NOW

URL = "https://receiver.test/secret-path"
PUBLIC = resolve_to("9.9.9.9")


def token_actor(owner: User, *scope: Grant) -> Actor:
    made = create_token(owner=owner, terms=TokenTerms(purpose="CI", scope=scope), by=owner, now=NOW)
    actor = actor_of_token(made.token)
    assert actor is not None
    return actor


def refused(by: Any, **terms: Any) -> dict[str, list[str]]:
    with pytest.raises(WebhookRefused) as caught:
        hooks.create_webhook(
            terms=WebhookTerms(**{"url": URL, "events": ["publication.saved"], **terms}), by=by, now=NOW, resolve=PUBLIC
        )
    return caught.value.fields


def test_a_new_webhook_has_a_secret_that_is_stored_encrypted(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL, "publication.saved", description=" CI ")
    stored = Webhook.objects.get()
    assert made.secret.startswith("whsec_")
    assert made.secret.encode() not in bytes(stored.secret)
    assert decrypt_secret(stored.secret).decode() == made.secret
    assert (stored.owner, stored.url, stored.events, stored.description) == (bob, URL, ["publication.saved"], "CI")
    assert stored.active
    assert Watch.objects.exists()


def test_the_audit_log_names_the_host_and_never_the_path(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL)
    hooks.rotate_secret(webhook=made.webhook, by=bob, now=NOW)
    hooks.send_ping(webhook=made.webhook, by=bob, now=NOW)
    hooks.change_webhook(webhook=made.webhook, by=bob, now=NOW, active=False)
    hooks.delete_webhook(webhook=made.webhook, by=bob, now=NOW)
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "target", "user"))
    acts = ["webhook.create", "webhook.rotate", "webhook.ping", "webhook.change", "webhook.delete"]
    assert entries == [(act, "receiver.test", bob.pk) for act in acts]
    assert "secret-path" not in str(list(AuditEntry.objects.values()))


def test_a_form_sent_twice_makes_one_webhook_with_one_secret(bob: User, webhook: MakeWebhook) -> None:
    form_id = uuid4()
    terms = WebhookTerms(url=URL, events=["publication.saved"])
    first, second = (
        hooks.create_webhook(terms=terms, by=bob, now=NOW, form_id=form_id, resolve=PUBLIC) for _ in range(2)
    )
    assert (first.webhook.pk, first.secret) == (second.webhook.pk, second.secret)
    assert Webhook.objects.count() == 1


def test_each_field_at_fault_is_named(bob: User) -> None:
    assert set(refused(bob, url="ftp://x", events=["no.event"], description="x" * 101)) == {
        "url",
        "events",
        "description",
    }
    assert refused(bob, events=[])["events"] == ["Select at least one event."]
    assert "ping" in refused(bob, events=["ping"])["events"][0]


def test_an_address_that_is_not_public_is_refused_before_anything_is_stored(bob: User) -> None:
    with pytest.raises(WebhookRefused, match="a public address"):
        hooks.create_webhook(
            terms=WebhookTerms(url=URL, events=["publication.saved"]), by=bob, now=NOW, resolve=resolve_to("127.0.0.1")
        )
    assert not Webhook.objects.exists()


def test_nobody_subscribes_to_what_they_may_not_see(charlie: User, member: User) -> None:
    assert "import.finished" in refused(charlie, events=["import.finished"])["events"][0]
    with pytest.raises(Forbidden):
        hooks.create_webhook(terms=WebhookTerms(url=URL, events=["node.state"]), by=member, now=NOW, resolve=PUBLIC)


def test_a_token_of_some_names_makes_no_webhook(bob: User) -> None:
    narrow = token_actor(bob, Grant(frozenset({Right.READ, Right.ADD}), everywhere=True, names=("_acme-challenge",)))
    with pytest.raises(Forbidden, match="some names or types"):
        hooks.create_webhook(
            terms=WebhookTerms(url=URL, events=["publication.saved"]), by=narrow, now=NOW, resolve=PUBLIC
        )


def test_a_token_s_webhook_belongs_to_its_owner_and_to_the_token(bob: User, webhook: MakeWebhook) -> None:
    actor = token_actor(bob, Grant(EVERY_RIGHT, zones=frozenset({7})))
    made = webhook(actor, URL, "publication.saved").webhook
    assert (made.owner, made.token) == (bob, actor.token)


def test_there_are_not_endlessly_many(bob: User, webhook: MakeWebhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "MOST_PER_OWNER", 2)
    webhook(bob), webhook(bob)
    assert "maximum" in refused(bob)["url"][0]


def test_a_change_checks_a_new_url_and_leaves_the_rest(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL, "publication.saved").webhook
    with pytest.raises(WebhookRefused):
        hooks.change_webhook(webhook=made, by=bob, now=NOW, url="https://inside.test/", resolve=resolve_to("10.0.0.1"))
    hooks.change_webhook(webhook=made, by=bob, now=NOW, url="https://other.test/", resolve=PUBLIC)
    hooks.change_webhook(webhook=made, by=bob, now=NOW, events=["node.state", "node.state"])
    made.refresh_from_db()
    assert (made.url, made.events, made.active) == ("https://other.test/", ["node.state"], True)


def test_switching_off_gives_up_what_waits_and_on_forgets_the_failures(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL).webhook
    delivery = hooks.send_ping(webhook=made, by=bob, now=NOW)
    Webhook.objects.update(failing_since=NOW, failures=7)
    hooks.change_webhook(webhook=made, by=bob, now=NOW, active=False)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.error) == (DeliveryState.FAILED, "The webhook was disabled.")
    for verb in (
        lambda: hooks.send_ping(webhook=made, by=bob, now=NOW),
        lambda: hooks.replay_delivery(delivery=Delivery.objects.get(), by=bob, now=NOW),
    ):
        with pytest.raises(WebhookRefused, match="The webhook is disabled"):
            verb()
    hooks.change_webhook(webhook=made, by=bob, now=NOW, active=True)
    made.refresh_from_db()
    assert (made.active, made.failing_since, made.failures, made.disabled_reason) == (True, None, 0, "")


def test_after_a_rotation_both_secrets_sign_for_a_day(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL)
    newer = hooks.rotate_secret(webhook=made.webhook, by=bob, now=NOW)
    made.webhook.refresh_from_db()
    assert secrets_of(made.webhook, now=NOW + timedelta(hours=23)) == [newer, made.secret]
    assert secrets_of(made.webhook, now=NOW + timedelta(hours=25)) == [newer]


def test_a_replay_is_a_delivery_of_the_same_event(bob: User, webhook: MakeWebhook) -> None:
    first = hooks.send_ping(webhook=webhook(bob, URL).webhook, by=bob, now=NOW)
    again = hooks.replay_delivery(delivery=first, by=bob, now=NOW)
    assert (again.event, again.replay_of, again.state) == (first.event, first, DeliveryState.WAITING)
    assert again.event.kind == EventKind.PING


def test_deleting_takes_the_log_along_and_twice_changes_nothing(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL).webhook
    hooks.send_ping(webhook=made, by=bob, now=NOW)
    pk = made.pk
    hooks.delete_webhook(webhook=made, by=bob, now=NOW)
    made.pk = pk
    hooks.delete_webhook(webhook=made, by=bob, now=NOW)
    with pytest.raises(WebhookUnknown):
        hooks.send_ping(webhook=made, by=bob, now=NOW)
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()
    assert AuditEntry.objects.filter(action="webhook.delete").count() == 1


def test_whom_and_when_are_checked_at_their_fields(bob: User, member: User, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    assert "PANEL_MAIL_HOST" in refused(bob, format="mail", url="")["format"][0]
    assert "your account’s address" in refused(bob, format="mail")["url"][0]
    assert "mail" in refused(bob, format="pager")["format"][0]
    assert refused(bob, zones=["none.test."])["zones"] == ["Zone not found: none.test."]
    assert "isn’t a valid tag" in refused(bob, tags=["no tag"])["tags"][0]
    assert "not found" in refused(bob, teams=[4711])["teams"][0]
    assert "at most 100" in refused(bob, teams=list(range(101)))["teams"][0]
    assert "0, 15, 60, 1440" in refused(bob, format="slack", gather_minutes=7)["gather_minutes"][0]
    assert "immediately" in refused(bob, gather_minutes=15)["gather_minutes"][0]
    assert "the start and the end" in refused(bob, format="slack", quiet_from=time(20))["quiet_until"][0]


def test_the_format_stays_and_the_rest_is_changed_and_told(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, URL, "publication.saved", format="slack").webhook
    with pytest.raises(WebhookRefused, match="format can’t be changed"):
        hooks.change_webhook(webhook=made, by=bob, now=NOW, format="teams")
    hooks.change_webhook(
        webhook=made, by=bob, now=NOW, tags=["Gold"], gather_minutes=60, quiet_from=time(20), quiet_until=time(7)
    )
    made.refresh_from_db()
    assert (made.tags, made.gather_minutes, made.quiet_from) == (["gold"], 60, time(20))
    details = AuditEntry.objects.get(action="webhook.change").details
    assert details["after"] == {
        "tags": ["gold"],
        "gather_minutes": 60,
        "quiet_from": "20:00:00",
        "quiet_until": "07:00:00",
    }
