"""Evidence as a Django app."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """Where the audit log is sent."""

    name = "dnspanel.evidence"
    label = "evidence"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.evidence.conditions import SUBJECT

        register(SUBJECT)
