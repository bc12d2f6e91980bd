"""Differences found on a node, and their repair."""

from typing import Any

from django.utils import timezone

from dnspanel.fleet.models import Bootstrap, Divergence, Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import zone_patches
from replication.dns import rdtypes, rrset


def state() -> Any:
    """Return the panel's data about differences on ns1."""
    node = Node.objects.get(name="ns1")
    rows = Divergence.objects.filter(node=node).order_by("pk")
    return {
        "equal": node.digest_equal,
        "refusal": node.refusal,
        "snapshots": Bootstrap.objects.count(),
        "zone_id": Zone.objects.get(name="test101.org.").pk,
        "open": rows.filter(repaired_at=None).count(),
        "found": [[row.zone_id, row.zone_name, row.words, row.error] for row in rows],
        "events": list(node.events.order_by("pk").values_list("sentence", flat=True)),
    }


def edit() -> None:
    """Publish an address at a new name."""
    zone = Zone.objects.get(name="test101.org.")
    met = rrset.make("met", rdtypes.A, 300, ["192.0.2.77"], origin=zone.name)
    patch = zone_patches.patch_of_steps(zone, [((met.name, met.type), zone_patches.replace_with(met))])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, Channel.SYSTEM, timezone.now()))
