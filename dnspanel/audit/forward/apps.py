"""Evidence as a Django app."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """Where the audit log is sent."""

    name = "dnspanel.audit.forward"
    label = "evidence"

    def ready(self) -> None:
        from dnspanel.audit.forward.conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
