"""The Django app for webhooks."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "dnspanel.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from dnspanel.webhooks.ask_hooks import ask_hooks
        from dnspanel.webhooks.signals import due
        from dnspanel.webhooks.tasks import wake_sender
        from dnspanel.zones.signals import hooks_questioned

        due.connect(wake_sender, dispatch_uid="wake a sender")
        hooks_questioned.connect(ask_hooks, dispatch_uid="ask publish hooks")
