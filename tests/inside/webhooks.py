"""A webhook and its deliveries."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.webhooks import hooks
from dnspanel.webhooks.models import Delivery
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit


def subscribe_and_publish() -> None:
    """Create a webhook and a zone.

    The webhook's host name has a public address when it is created, and a local one when an event is sent.
    """
    owner, now = User.objects.get(username="wanda"), timezone.now()
    terms = hooks.WebhookTerms(url="https://localhost:8443/", events=["publication.saved", "publication.everywhere"])
    hooks.create_webhook(terms=terms, by=owner, now=now, resolve=lambda host, port: ["9.9.9.9"])
    edit.create_zone(zone=edit.NewZone("hooked.test."), acting=Acting(owner, "web", timezone.now()))


def deliveries() -> Any:
    """Return the event, state and error of each delivery."""
    return list(Delivery.objects.order_by("pk").values_list("event__kind", "state", "error"))
