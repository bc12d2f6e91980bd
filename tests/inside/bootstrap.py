"""Publications and deletions of zones, and a log that is pruned while nodes are away."""

from typing import Any

from django.utils import timezone

from dnspanel.fleet.models import NodeEvent
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.models import Segment, Stall
from dnspanel.publish.storage.prune import prune_log
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.dns.rrset import make


def publish(*acts: str) -> None:
    """Create zones (`+name=address`) and delete others (`-name`)."""
    for act in acts:
        name, _, address = act[1:].partition("=")
        if act[0] == "+":
            rrsets = [make(name, rdtypes.A, 300, [address])]
            edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", timezone.now()))
        else:
            zone = Zone.objects.get(name=name, deleted_at=None)
            edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))


def snapshot_and_prune() -> Any:
    """Make a snapshot and prune the log as if all nodes had been away longer than the log is kept.

    Return the number of remaining segments.
    """
    assert make_snapshot(schema=4, now=timezone.now()) is not None
    prune_log(needed={}, now=timezone.now())
    return Segment.objects.count()


def events(node: str) -> Any:
    """Return the event texts about snapshots on the node's page."""
    return list(NodeEvent.objects.filter(node__name=node, kind="snapshot").values_list("sentence", flat=True))


def encoded() -> Any:
    """Return True if all publications are encoded into segments and encoding is not stalled."""
    head = LogHead.objects.get()
    return Segment.objects.filter(epoch=head.epoch, last=head.sequence).exists() and not Stall.objects.exists()
