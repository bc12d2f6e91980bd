"""The Django app `evidence`."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """The app that sends the audit log to external servers."""

    name = "dnspanel.audit.forward"
    label = "evidence"

    def ready(self) -> None:
        from dnspanel.audit.forward.conditions import SUBJECT
        from dnspanel.audit.forward.deliver_acts import read_by_all
        from dnspanel.conditions import register
        from dnspanel.zones.audit.prune_links import register_reader

        register(SUBJECT)
        register_reader(read_by_all)
