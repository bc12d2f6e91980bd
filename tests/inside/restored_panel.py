"""A panel restored from a backup archive."""

from typing import Any

from django.conf import settings
from django.core.management import execute_from_command_line
from django.utils import timezone

from dnspanel.fleet.models import AheadReport, Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Epoch, LogHead, Zone
from dnspanel.zones.signing import sign


def state() -> Any:
    """Return the log's position in the panel and on nodes, the hold's reason, and the report about differences."""
    head = LogHead.objects.get()
    report = AheadReport.objects.order_by("-pk").first()
    return {
        "epoch": str(head.epoch),
        "head": head.sequence,
        "held": head.held_reason,
        "nodes": {n.name: [str(n.epoch), n.acked] for n in Node.objects.filter(state="active")},
        "asked": bool(report and report.ended_at),
        "error": report.error if report else "",
        "epochs": Epoch.objects.count(),
        "serials": dict(Zone.objects.filter(deleted_at=None).values_list("name", "serial")),
    }


def sign_zone(name: str) -> None:
    """Sign a zone."""
    acting = Acting(author=None, channel="system", now=timezone.now())
    sign.sign(zones=[Zone.objects.get(name=name, deleted_at=None)], acting=acting)


def manage(database: str, master_key: str, *arguments: str) -> None:
    """Run a `manage.py` command on another database."""
    settings.DATABASES["default"]["NAME"] = database
    settings.MASTER_KEY = master_key or settings.MASTER_KEY
    execute_from_command_line(["manage.py", *arguments])
