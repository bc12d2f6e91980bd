"""Webhooks as a Django app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Webhooks and their deliveries."""

    name = "dnspanel.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from dnspanel.webhooks.signals import due
        from dnspanel.webhooks.tasks import ring_webhook

        due.connect(ring_webhook, dispatch_uid="ring the webhooks")
