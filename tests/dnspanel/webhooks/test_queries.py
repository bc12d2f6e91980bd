"""Tests of webhook queries for pages and APIs."""

from typing import Any

from dnspanel.accounts.models import User
from dnspanel.webhooks import hooks, queries
from dnspanel.webhooks.models import Delivery, DeliveryState, Webhook
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.people import NOW


def test_the_list_shows_how_each_webhook_does(
    alice: User, bob: User, webhook: MakeWebhook, django_assert_num_queries: Any
) -> None:
    one, two, three = (webhook(bob).webhook for _ in range(3))
    for state in ("delivered", "delivered", "failed", "waiting"):
        last = hooks.send_ping(webhook=one, by=bob, now=NOW)
        Delivery.objects.filter(pk=last.pk).update(state=state)
    Webhook.objects.filter(pk=two.pk).update(failing_since=NOW)
    Webhook.objects.filter(pk=three.pk).update(active=False)
    with django_assert_num_queries(3):
        rows = queries.webhook_rows(alice)
    assert [(row.webhook, row.word) for row in rows] == [(three, "off"), (two, "failing"), (one, "working")]
    assert (rows[2].waiting, rows[2].delivered, rows[2].failed, rows[2].last) == (1, 2, 1, last)
    assert (rows[0].waiting, rows[0].last) == (0, None)
    assert [row.webhook for row in queries.webhook_rows(bob, before=two.pk)] == [one]


def test_the_log_pages_by_key(bob: User, webhook: MakeWebhook, django_assert_num_queries: Any) -> None:
    made = webhook(bob).webhook
    pks = [hooks.send_ping(webhook=made, by=bob, now=NOW).pk for _ in range(5)]
    Delivery.objects.filter(pk=pks[1]).update(state=DeliveryState.FAILED)
    with django_assert_num_queries(1):
        first = queries.deliveries_page(made, limit=2)
        assert [delivery.event.kind for delivery in first] == ["ping", "ping"]
    assert [delivery.pk for delivery in first] == pks[:2:-1]
    assert [delivery.pk for delivery in queries.deliveries_page(made, before=first[-1].pk)] == pks[2::-1]
    assert [delivery.pk for delivery in queries.deliveries_page(made, state="failed")] == [pks[1]]
    assert queries.deliveries_page(made, kind="node.state") == []
