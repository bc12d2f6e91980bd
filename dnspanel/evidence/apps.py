"""Evidence as a Django app."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """Where the audit log is sent."""

    name = "dnspanel.evidence"
    label = "evidence"
