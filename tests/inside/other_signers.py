"""Zones that other providers sign, too."""

import time
from typing import Any

from django.utils import timezone

from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rules.computed_types import SET_UP, reasons_against
from dnspanel.zones.signing import other_signers, sign
from replication.dns import rdata
from replication.dns.rrset import make


def create(name: str, content: list[tuple[str, str, str]]) -> Any:
    """Create a signed zone that publishes CDS and CDNSKEY, and return its keys."""
    while reasons_against(SET_UP - {65401, 65402}):  # until all nodes have reported their abilities
        time.sleep(0.1)
    now = timezone.now()
    acting = Acting(author=None, channel="system", now=now)
    rrsets = [make(label + name, rdata.type_from_text(type), 2, [text]) for label, type, text in content]
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", now))
    zone = Zone.objects.get(name=name, deleted_at=None)
    sign.sign(zones=[zone], acting=acting)
    sign.set_cds(zone=zone, cds="2", cdnskey=True, acting=acting)
    return [key.dnskey for key in queries.keys_of(zone)]


def add(name: str, dnskey: str) -> None:
    """Add another signer's key."""
    zone = Zone.objects.get(name=name, deleted_at=None)
    acting = Acting(author=None, channel="system", now=timezone.now())
    other_signers.add_other_key(zone=zone, text=f"{name} IN DNSKEY {dnskey}", acting=acting)


def step(name: str, step: str) -> Any:
    """Carry out one step of a manual rollover, and return the zone's keys."""
    zone = Zone.objects.get(name=name, deleted_at=None)
    acting = Acting(author=None, channel="system", now=timezone.now())
    zsks = sorted((key for key in queries.keys_of(zone) if key.flags == 256), key=lambda key: key.id)
    if step == "split":
        sign.add_key(zone=zone, acting=acting, flags=256)
    elif step == "publish":
        sign.add_key(zone=zone, acting=acting, flags=256, active=False)
    elif step == "sign":
        sign.set_key(zone=zone, key_id=zsks[1].id, active=True, acting=acting)
        sign.set_key(zone=zone, key_id=zsks[0].id, active=False, acting=acting)
    elif step == "remove":
        sign.delete_key(zone=zone, key_id=zsks[0].id, acting=acting)
    return [key.dnskey for key in queries.keys_of(zone)]
