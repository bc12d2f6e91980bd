"""Publications, delivery and rollouts in a fleet with groups."""

from dataclasses import replace
from typing import Any

from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.alerts.models import Alert
from dnspanel.api.waiting import wait_for_nodes
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Ack, Bootstrap, Delivery, Isolation, Node, NodeGroup, UnprovenZone
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.reads.queries import node_statuses
from dnspanel.fleet.reads.summary import fleet_summary
from dnspanel.fleet.rollout import deliver_groups, rollout_groups
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.key_material import KSK_FLAGS
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.log import signing_log
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.plan import readable
from dnspanel.zones.publishing import bulk, edit, ready_zones
from dnspanel.zones.signing import sign
from replication.dns import rdata, rrset


def _publish_whatever_it_is() -> None:
    """Let this process publish values that some node cannot read, which then act as poison."""
    bulk.unreadable_in = lambda coming: []
    readable.refuse_unreadable = lambda content: None


def change(zone: str, name: str, type: str, *values: str) -> int:
    """Publish one RRset, or delete it if there are no values. Return the publication's sequence."""
    _publish_whatever_it_is()
    existing = ready_zones.existing_zones([zone])[zone]
    number = rdata.type_from_text(type)
    rrset_or_none = rrset.make(name, number, 60, values) if values else None
    publication, _ = bulk.change_zones(
        changes=[bulk.ZoneChange(existing.id, existing.revision, {(name, number): rrset_or_none})],
        acting=Acting(None, "system", timezone.now()),
    )
    return publication.sequence


def change_many_times(zone: str, name: str, times: int) -> list[int]:
    return [change(zone, name, "A", f"192.0.2.{number}") for number in range(1, times + 1)]


def create(zone: str, *more: tuple[str, str, str]) -> int:
    """Create a zone with `www` and more RRsets. Return the publication's sequence."""
    _publish_whatever_it_is()
    rrsets = [
        rrset.make(f"www.{zone}", 1, 60, ["192.0.2.1"]),
        *[rrset.make(name, rdata.type_from_text(type), 60, [value]) for name, type, value in more],
    ]
    # Code that creates many zones has already checked their values.
    acting = Acting(None, "system", timezone.now())
    return edit.create_zones(zones=[edit.NewZone(zone, tuple(rrsets))], acting=acting).sequence


def set_up_groups(verify_seconds: int) -> None:
    """Create three zones, a group "canary" with ns1, and a group "rest" with ns2 and ns3."""
    now = timezone.now()
    for number in (1, 2, 3):
        create(f"stages{number}.test.")
    canary = rollout_groups.create_group(name="canary", verify_seconds=verify_seconds, by=None, now=now)
    rest = rollout_groups.create_group(name="rest", verify_seconds=0, by=None, now=now)
    Node.objects.filter(name="ns1").update(group=canary)
    Node.objects.filter(name__in=("ns2", "ns3")).update(group=rest)


def verify_canary_for(seconds: int) -> None:
    rollout_groups.set_verify_seconds(
        group=NodeGroup.objects.get(name="canary"), seconds=seconds, by=None, now=timezone.now()
    )


def acked() -> dict[str, int]:
    return dict(Node.objects.values_list("name", "acked"))


def acks_since(sequence: int) -> list[tuple[str, float]]:
    """Return the acknowledgments since this sequence as (node name, timestamp), in order of time."""
    acks = Ack.objects.filter(sequence__gte=sequence).order_by("at")
    return [(ack.node.name, ack.at.timestamp()) for ack in acks.select_related("node")]


def descriptions_of_nodes() -> dict[str, tuple[str, str]]:
    """Return each node's state and message, and the fleet's tone and message under the key "fleet"."""
    result = {each.node.name: (each.health.word, each.health.message) for each in node_statuses(now=timezone.now())}
    result["fleet"] = (fleet_summary().tone, fleet_summary().message)
    return result


def share_of_failed_answers() -> float:
    """Return the share of ns1's failed answers in the last five minutes, or 1.0 if there were at most 200 answers."""
    now = timezone.now().timestamp()
    rcodes = telemetry.answers_between([Node.objects.get(name="ns1").pk], now - 300, now)
    total = sum(rcodes.values())
    return (rcodes["SERVFAIL"] + rcodes["REFUSED"]) / total if total > 200 else 1.0


def delivery() -> dict[str, Any] | None:
    return Delivery.objects.values("stopped_reason", "pinned", "stopped_whole").first()


def stop_delivery() -> None:
    deliver_groups.stop(reason="a test", by=None, now=timezone.now())


def resume_delivery() -> None:
    deliver_groups.resume(by=None, now=timezone.now())


def pin_delivery() -> None:
    deliver_groups.pin(sequence=LogHead.objects.get().sequence, reason="freeze for a test", by=None, now=timezone.now())


def unpin_delivery() -> None:
    deliver_groups.unpin(by=None, now=timezone.now())


def release_delivery() -> None:
    """Resume delivery if it is stopped, and unpin it if it is pinned."""
    if Delivery.objects.exclude(stopped_reason="").exists():
        resume_delivery()
    if Delivery.objects.exclude(pinned=None).exists():
        unpin_delivery()


def delete_zone(name: str) -> None:
    edit.delete_zone(zone=Zone.objects.get(name=name), acting=Acting(None, "system", timezone.now()))


def restore_zone(name: str) -> None:
    edit.restore_zone(zone=Zone.objects.get(name=name), author=None, channel="system", now=timezone.now())


def has_zone(name: str) -> bool:
    return Zone.objects.filter(name=name, deleted_at=None).exists()


def failed_reason(sequence: int) -> str:
    return Publication.objects.get(sequence=sequence).failed_reason


def failed_reasons(*sequences: int) -> list[str]:
    return list(Publication.objects.filter(sequence__in=sequences).values_list("failed_reason", flat=True))


def isolation(sequence: int) -> dict[str, Any]:
    """Return the data about a withdrawn publication, and its traces in segments and snapshots."""
    one = Isolation.objects.get(failed=sequence)
    inverse = Publication.objects.get(sequence=one.inverse)
    segments = Segment.objects.filter(first__lte=sequence, last__gte=sequence)
    pruned = Snapshot.objects.filter(epoch=one.epoch, sequence__gte=one.inverse).exists() and not segments
    return {
        "reason": failed_reason(sequence),
        "channel": inverse.channel,
        "said": inverse.reason,
        "pruned": pruned,
        "one segment": [(each.first <= one.failed and each.last >= one.inverse) for each in segments],
        "merged": one.merged_at is not None,
    }


def create_poisoned(zone: str, type: str, value: str) -> bool | tuple[str, float] | None:
    """Create a zone of 151 RRsets with an unreadable one, and wait for the nodes.

    If it is withdrawn, return the reason and the seconds until then, otherwise the result of the wait.
    """
    _publish_whatever_it_is()
    hosts = [rrset.make(f"h{number}.{zone}", 1, 60, ["192.0.2.9"]) for number in range(150)]
    bad = rrset.make(f"h77.{zone}", rdata.type_from_text(type), 60, [value])
    begun = timezone.now()
    new = edit.NewZone(zone, (*hosts, bad))
    publication = edit.create_zones(zones=[new], acting=Acting(None, "system", begun))
    try:
        return wait_for_nodes(publication, 50)
    except TakenBack as exc:
        return exc.reason, (timezone.now() - begun).total_seconds()


def missign(name: str) -> int:
    """Use a key as the only signing key that is not in the DNSKEY RRset. Return the sequence.

    No verb does this, but a verb's bug could.
    """
    zone = Zone.objects.get(name=name, deleted_at=None)
    acting = Acting(author=None, channel="system", now=timezone.now())

    def missigned(zone: Zone, state: SigningState) -> SigningState:
        hidden = sign._store(zone, KSK_FLAGS, key_material.generate(13), acting)
        keys = [replace(key, active=False) for key in state.keys]
        return replace(state, keys=(*keys, KeyState(hidden.pk, 13, KSK_FLAGS, True, False)))

    [publication] = signing_log.change_signing(zones=[zone], decide=missigned, acting=acting, action="dnssec.key_set")
    return publication.sequence


def create_signed(name: str) -> list[str]:
    """Create a signed zone, and return its keys."""
    create(name)
    zone = Zone.objects.get(name=name, deleted_at=None)
    sign.sign(zones=[zone], acting=Acting(author=None, channel="system", now=timezone.now()))
    return keys_of(name)


def keys_of(name: str) -> list[str]:
    return [key.dnskey for key in queries.keys_of(Zone.objects.get(name=name, deleted_at=None))]


def is_encoded() -> bool:
    """Return True if the newest publication is encoded into a segment."""
    head = LogHead.objects.get()
    return Segment.objects.filter(epoch=head.epoch, last=head.sequence).exists()


def send_snapshot(*names: str) -> int | None:
    """Make a snapshot of all publications, let these nodes ask for it, and resume delivery. Return its sequence."""
    now = timezone.now()
    made = make_snapshot(schema=4, now=now)
    for node in Node.objects.filter(name__in=names):
        assert ask_for_snapshot(node_id=node.pk, reason="a test wants that", now=now)
    if Delivery.objects.exclude(stopped_reason="").exists():
        deliver_groups.resume(by=None, now=now)
    return made and made.sequence


def waiting_snapshots() -> list[tuple[str, str]]:
    return [(each.node.name, each.error) for each in Bootstrap.objects.select_related("node")]


def pages(zone: str, host: str) -> dict[str, Any]:
    """Return a zone's DNSSEC page, ring 0's page, and the alert about zones that do not validate."""
    values = {"role": "administrator", "email": "nora@people.test"}
    user = User.objects.get_or_create(username="nora", defaults=values)[0]
    client = Client()
    client.force_login(user)

    def page(path: str) -> str:
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 200, (path, answer.status_code, answer.headers)
        return " ".join(answer.content.decode().split())

    return {
        "zone": page(f"/zones/{zone}/dnssec/"),
        "node": page("/nodes/ring0/"),
        "alerts": [alert.sentence for alert in Alert.objects.filter(key="panel.unproven", over_at=None)],
    }


def unproven_problems() -> list[list[str]]:
    """Return node, zone and problem for each zone that does not validate on some node."""
    rows = UnprovenZone.objects.order_by("node__name", "zone__name")
    return [list(row) for row in rows.values_list("node__name", "zone__name", "problem")]


def unproven_zones() -> list[tuple[str, str]]:
    return sorted(UnprovenZone.objects.values_list("node__name", "zone__name"))
