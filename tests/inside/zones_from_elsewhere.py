"""Zones that the panel transfers from other servers."""

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.primaries import set_up_primaries
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit


def create(name: str, address: str) -> None:
    """Create a zone that is transferred from this address."""
    owner = User.objects.get(username="prima")
    set_up_primaries.create_transferred_zone(
        name=name, terms=set_up_primaries.Terms([address]), acting=Acting(owner, "web", timezone.now())
    )


def set_address(name: str, address: str) -> None:
    """Change the address that a zone is transferred from."""
    owner = User.objects.get(username="prima")
    set_up_primaries.set_primaries(
        zone=Zone.objects.get(name=name),
        terms=set_up_primaries.Terms([address]),
        acting=Acting(owner, "api", timezone.now()),
    )


def delete_or_restore(name: str, act: str) -> None:
    """Delete a zone, or restore it."""
    owner = User.objects.get(username="prima")
    zone = Zone.objects.get(name=name)
    if act == "delete":
        edit.delete_zone(zone=zone, acting=Acting(owner, "web", timezone.now()))
    else:
        edit.restore_zone(zone=zone, author=owner, channel="web", now=timezone.now())
