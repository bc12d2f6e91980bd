"""A zone is signed, edited, denied in other ways and unsigned, while every node's answers are validated by others."""

import json
import threading
from collections import Counter

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.validator import Validator
from tests.stack import ask, run_script, until, wait_until_in_sync

pytestmark = pytest.mark.flow

ZONE = "signed.test."

ACT = """
import json, sys
import django
django.setup()
from django.utils import timezone
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.dnssec import queries
from dnspanel.zones.signing import sign
from dnspanel.zones.models import Zone
from replication.codec.dnssec import Nsec3
from replication.dns import rdata
from replication.dns.rrset import make
act, name, *rest = sys.argv[1:]
now = timezone.now()
acting = Acting(author=None, channel="system", now=now)
if act == "create":
    rrsets = [make(owner, rdata.type_from_text(type), 60, [text]) for owner, type, text in json.loads(rest[0])]
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", now))
zone = Zone.objects.get(name=name, deleted_at=None)
if act == "sign":
    sign.sign(zones=[zone], acting=acting, split=rest[0] == "split", algorithm=int(rest[1]))
elif act == "ask-deletion":
    sign.set_cds(zone=zone, cds="0", cdnskey=True, acting=acting)
elif act == "unsign":
    sign.unsign(zones=[zone], acting=acting)
elif act == "denial":
    found = json.loads(rest[0])
    nsec3 = None if found is None else Nsec3(found[0], bytes.fromhex(found[1]), found[2], found[3])
    sign.set_denial(zone=zone, nsec3=nsec3, acting=acting)
elif act == "edit":
    owner, text = rest
    step = zone_patches.replaced(make(owner, 1, 60, [text]))
    patch = zone_patches.patch_of_steps(zone, [((owner, 1), step)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, "system", now))
print(json.dumps([[key.dnskey, key.role, key.active] for key in queries.keys_of(zone)]))
"""

RRSETS = [
    (f"www.{ZONE}", "A", "192.0.2.1"),
    (f"a.b.c.{ZONE}", "TXT", '"deep"'),
    (f"*.wild.{ZONE}", "A", "192.0.2.3"),
    (f"alias.{ZONE}", "CNAME", f"www.{ZONE}"),
    (f"sub.{ZONE}", "NS", "ns.elsewhere.test."),
    (f"safe.{ZONE}", "NS", f"ns.safe.{ZONE}"),
    (f"safe.{ZONE}", "DS", "12345 13 2 " + "ab" * 32),
    (f"ns.safe.{ZONE}", "A", "192.0.2.2"),
]
DENIALS = [[0, "", False, False], [0, "", True, False], None, [0, "", False, True], [1, "ab", False, False], None]
DENIALS += [[0, "", False, False], [1, "ab", False, False]]


def act(stack: Stack, what: str, *rest: str) -> list[tuple[str, str, bool]]:
    return [tuple(key) for key in json.loads(run_script(stack, ACT, what, ZONE, *rest))]


@pytest.fixture(scope="module")
def zone(stack: Stack) -> str:
    act(stack, "create", json.dumps(RRSETS))
    wait_until_in_sync(stack)
    return ZONE


@pytest.mark.parametrize(("split", "algorithm"), [("csk", "13"), ("split", "8")])
def test_every_answer_validates_through_every_change(stack: Stack, zone: str, split: str, algorithm: str) -> None:
    act(stack, "sign", split, algorithm)
    wait_until_in_sync(stack)
    keys = [dnskey for dnskey, _, _ in act(stack, "look")]
    assert len(keys) == (2 if split == "split" else 1)
    watched = [name for name, _, _ in RRSETS] + [f"nothing.{ZONE}", f"x.wild.{ZONE}", f"b.c.{ZONE}", f"zz.{ZONE}"]
    watcher = Validator(stack.nodes, ZONE, keys, watched)
    with watcher:
        for number, denial in enumerate(DENIALS):
            act(stack, "denial", json.dumps(denial))
            act(stack, "edit", f"n{number}.{ZONE}", f"192.0.2.{number + 10}")
            wait_until_in_sync(stack)
        questions = watcher.questions
        until(lambda: watcher.questions > questions + len(watched) * 3, seconds=30, what="one more round")
    assert watcher.faults == [], Counter(fault.split(": ", 1)[1] for fault in watcher.faults)
    assert watcher.questions > 100
    act(stack, "ask-deletion")
    wait_until_in_sync(stack)
    for node in stack.nodes:
        found = {kind: list(ask(node, ZONE, kind).rdata) for kind in ("CDS", "CDNSKEY")}
        assert found == {"CDS": ["0 0 0 00"], "CDNSKEY": ["0 3 0 AA=="]}  # RFC 8078 section 4
    act(stack, "unsign")
    wait_until_in_sync(stack)
    assert threading.active_count() < 20
