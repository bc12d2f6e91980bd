"""Number a webhook's deliveries: 1, 2, 3 and so on. Receivers use the numbers to detect missing events. Verbs."""

from django.db.models import F

from dnspanel.webhooks.models import Webhook


def next_numbers(webhook_id: int, count: int) -> range:
    """Reserve and return the next `count` numbers of this webhook, in the caller's transaction.

    Another process that reserves numbers waits until that transaction ends. Therefore a higher number is never visible
    before a lower one. A number is used again only for a replay.
    """
    if not count:
        return range(0)
    Webhook.objects.filter(pk=webhook_id).update(last_number=F("last_number") + count)
    last: int = Webhook.objects.values_list("last_number", flat=True).get(pk=webhook_id)
    return range(last - count + 1, last + 1)
