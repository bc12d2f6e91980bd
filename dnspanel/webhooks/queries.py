"""Queries for views: webhooks, and their delivery logs, which are paged by id."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from dnspanel.accounts.actors.actors import Person
from dnspanel.webhooks.access import webhooks_visible_to
from dnspanel.webhooks.models import Delivery, DeliveryState, Webhook


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook in a list, with its last delivery and the counts of waiting, delivered and failed deliveries."""

    webhook: Webhook
    waiting: int
    delivered: int
    failed: int
    last: Delivery | None

    @property
    def word(self) -> str:
        """The webhook's state: off, failing or working."""
        if not self.webhook.active:
            return "off"
        return "failing" if self.webhook.failing_since else "working"


def webhook_rows(person: Person, *, before: int | None = None, limit: int = 50) -> list[WebhookRow]:
    """Return the newest webhooks visible to the user (with ids below `before`, if given), in three queries."""
    found = webhooks_visible_to(person).order_by("-pk")
    page = list((found if before is None else found.filter(pk__lt=before))[:limit])
    counts = Counter[tuple[int, str]]()
    states = Delivery.objects.filter(webhook__in=page).values_list("webhook", "state").annotate(Count("pk"))
    for webhook_id, state, count in states.order_by():
        counts[webhook_id, state] = count
    newest = Delivery.objects.filter(webhook__in=page).order_by("webhook", "-pk").distinct("webhook")
    last = {delivery.webhook_id: delivery for delivery in newest.select_related("event")}
    return [
        WebhookRow(
            webhook,
            waiting=counts[webhook.pk, DeliveryState.WAITING],
            delivered=counts[webhook.pk, DeliveryState.DELIVERED],
            failed=counts[webhook.pk, DeliveryState.FAILED],
            last=last.get(webhook.pk),
        )
        for webhook in page
    ]


def deliveries_page(
    webhook: Webhook, *, state: str = "", kind: str = "", before: int | None = None, limit: int = 50
) -> list[Delivery]:
    """Return a webhook's newest deliveries with ids below `before`, filtered by state and kind, with their events."""
    found = Delivery.objects.filter(webhook=webhook).select_related("event", "replay_of").order_by("-pk")
    if state:
        found = found.filter(state=state)
    if kind:
        found = found.filter(event__kind=kind)
    return list((found if before is None else found.filter(pk__lt=before))[:limit])
