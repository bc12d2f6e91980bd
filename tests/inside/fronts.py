"""Fronts, and a zone on the nodes behind them."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.api.waiting import wait_for_nodes
from dnspanel.fleet.models import Ack
from dnspanel.fleet.nodes import fronts, node_lifecycle
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit, zone_patches
from replication.dns import rdtypes
from replication.dns.rrset import make


def set_terms(name: str, terms: dict[str, Any]) -> None:
    """Set the terms of a front."""
    terms = fronts.Terms(**terms)
    fronts.set_terms(node=node_lifecycle.node_by_name(name), terms=terms, now=timezone.now(), by=None)


def report(name: str) -> Any:
    """Return a front's last report, or None if there is none."""
    return node_lifecycle.node_by_name(name).report.get("front")


def create(name: str) -> None:
    """Create an empty zone."""
    acting = Acting(User.objects.get(username="fiona"), "web", timezone.now())
    edit.create_zone(zone=edit.NewZone(name), acting=acting)


def publish(zone_name: str, address: str, seconds: float) -> Any:
    """Publish an address. Return True if all nodes have it in time, and the names of the nodes that have it."""
    zone = Zone.objects.get(name=zone_name, deleted_at=None)
    name = f"www.{zone.name}"
    patch = zone_patches.Patch(zone, lambda current: {(name, rdtypes.A): make(name, rdtypes.A, 300, [address])}, {name})
    acting = Acting(User.objects.get(username="fiona"), "api", timezone.now())
    outcome = zone_patches.publish_patches(patches=[patch], acting=acting, confirmed=True)
    is_everywhere = wait_for_nodes(outcome.publication, seconds)
    acks = Ack.objects.filter(epoch=outcome.publication.epoch, sequence__gte=outcome.publication.sequence)
    return [is_everywhere, sorted(set(acks.filter(node__is_ring0=False).values_list("node__name", flat=True)))]


def act(name: str, node: str) -> None:
    """Carry out this action of `node_lifecycle` on a node."""
    act = getattr(node_lifecycle, name)
    act(node=node_lifecycle.node_by_name(node), now=timezone.now(), by=None)
