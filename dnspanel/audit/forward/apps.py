"""The Django app `evidence`."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """The app that sends the audit log to external servers."""

    name = "dnspanel.audit.forward"
    label = "evidence"

    def ready(self) -> None:
        from dnspanel.audit.forward.conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
