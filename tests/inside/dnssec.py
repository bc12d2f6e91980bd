"""Zones with DNSSEC for tests."""

from typing import Any

from django.utils import timezone

from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from replication.dns import rdata
from replication.dns.rrset import RRset, make


def act(act: str, name: str, *rest: Any) -> Any:
    """Carry out one step with a zone: create, sign, edit or another act. Return its keys."""
    now = timezone.now()
    acting = Acting(author=None, channel="system", now=now)
    if act == "create":
        rrsets = [make(owner, rdata.type_from_text(type), 60, [text]) for owner, type, text in rest[0]]
        edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", now))
    zone = Zone.objects.get(name=name, deleted_at=None)
    if act == "sign":
        sign.sign(zones=[zone], acting=acting, split=rest[0] == "split", algorithm=int(rest[1]))
    elif act == "ask-deletion":
        sign.set_cds(zone=zone, cds="0", cdnskey=True, acting=acting)
    elif act == "unsign":
        sign.unsign(zones=[zone], acting=acting)
    elif act == "denial":
        found = rest[0]
        nsec3 = None if found is None else Nsec3(found[0], bytes.fromhex(found[1]), found[2], found[3])
        sign.set_denial(zone=zone, nsec3=nsec3, acting=acting)
    elif act == "edit":
        owner, text = rest
        step = zone_patches.replace_with(make(owner, 1, 60, [text]))
        patch = zone_patches.patch_of_steps(zone, [((owner, 1), step)])
        zone_patches.publish_patches(patches=[patch], acting=Acting(None, "system", now))
    return [[key.dnskey, key.role, key.active] for key in queries.keys_of(zone)]


def create(name: str) -> None:
    """Create an empty zone."""
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))


def create_large(name: str, records: int) -> None:
    """Create a zone with many hosts."""
    rrsets = [
        make("www." + name, 1, 5, ["192.0.2.1"]),
        make("*.wild." + name, 16, 5, ['"wild"']),
        make("alias." + name, 5, 5, ["www." + name]),
        make(name, 6, 5, ["ns.elsewhere.test. hostmaster.elsewhere.test. 1 10800 3600 604800 5"]),
    ]
    rrsets += [RRset(f"n{number}.{name}", 1, 5, ("192.0.2.2",)) for number in range(records)]
    edit.create_zones(zones=[edit.NewZone(name, rrsets)], acting=Acting(None, "import", timezone.now()))
