"""The numbers of a webhook's deliveries: 1, 2, 3 and so on, so that a receiver sees what it lacks. Verbs."""

from django.db.models import F

from dnspanel.webhooks.models import Webhook


def next_numbers(webhook_id: int, count: int) -> range:
    """Take the next `count` numbers of this webhook, in the caller's transaction.

    Who takes numbers of it next waits until that transaction ends, so a higher number is never visible before a lower
    one. A number that was taken is not used again, except by a replay.
    """
    if not count:
        return range(0)
    Webhook.objects.filter(pk=webhook_id).update(last_number=F("last_number") + count)
    last: int = Webhook.objects.values_list("last_number", flat=True).get(pk=webhook_id)
    return range(last - count + 1, last + 1)
