"""Report the differences between the panel and the node that is furthest ahead. Verbs.

1. Query every node's position, and choose the one that is furthest ahead.
2. Compare the node's list of zones page by page with the panel's zones of the same ids. Find zones that only one of the
   two has, zones with different serials, and zones with equal serials but different digests.
3. Fetch the records of each differing zone, and compare RRset by RRset.
4. Find the zones that would fail validation after either decision.

Only one page and one zone are in memory at a time. If the process is killed, the report starts again from the
beginning: an unfinished report doesn't count.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Protocol
from uuid import UUID

from django.db.models import F, Max
from django.utils import timezone

from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.integrity.broken_chains import note_breaks
from dnspanel.fleet.integrity.unknown_signing import unknown_signing
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Node, NodeState
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.publish.keys.sealing_keys import all_sealing_keys, sealing_key
from dnspanel.publish.models import Segment
from dnspanel.publish.reading.file_operations import compiled_rows
from dnspanel.publish.reading.publication_log import ZoneStep
from dnspanel.texts import gettext
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from replication.codec.dnssec import Nsec3
from replication.codec.keys import relative_key
from replication.codec.sealed import SealingKey
from replication.decompile import rrsets_of_rows
from replication.dns import rdata
from replication.dns.rrset import RRset, make, notes_of_values
from replication.errors import BadBytes, NodeUnreachable, ReplicationError
from replication.node_client import NodeClient
from replication.wire.operations import digest_bytes, record_puts
from replication.wire.position import Position
from replication.wire.protocol import ServedZone, Status

_ANSWER_SECONDS = 30.0
# Zones are compiled together for their digests until they have this many RRsets in total.
_DIGEST_RRSETS = 20_000
_PAGE = 2_000
# Zones made by PowerDNS's own tools have random ids. An id so far above the panel's highest is not the panel's.
_BELIEVABLE_IDS = 10_000_000
_BY_NAME = {"update_conflicts": True, "unique_fields": ["report", "name"]}

logger = logging.getLogger(__name__)


class Knows(Protocol):
    """The requests to a node that the report needs. `NodeClient` implements this protocol."""

    def status(self) -> Status:
        """Return the node's status."""

    def zones(self, after: int = 0) -> Iterator[ServedZone]:
        """Yield every zone with an id above `after`, ordered by id."""

    def all_zone_rows(self, zone_id: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield every row of a zone as (record key, body)."""

    def attached_objects(self, zone_id: int) -> list[tuple[int, int, bytes]]:
        """Return the zone's metadata and keys as (table, row id, body)."""

    def put_sealing_keys(self, keys: Sequence[SealingKey]) -> None:
        """Send the node these keys, which it uses to seal DNSSEC keys."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A node that responded, and its status."""

    node: Node
    status: Status

    @property
    def position(self) -> Position | None:
        return self.status.position


def make_report(*, report: AheadReport, now: datetime) -> None:
    """Complete the report, or record why it failed. `decision.step` repeats a failed report after a pause."""
    AheadZone.objects.filter(report=report).delete()
    clients = {node.pk: (node, _client(node, now)) for node in _enrolled_nodes()}
    try:
        answered, silent = _ask_all(clients.values())
        furthest = _furthest(answered)
        if furthest is None:
            AheadReport.objects.filter(pk=report.pk).update(
                silent_nodes=silent, ended_at=None, error=gettext("No node with zones responded.")
            )
            return
        client = clients[furthest.node.pk][1]
        _note_positions(report, answered, silent, furthest)
        _compare_lists(report, client)
        _note_highest_id(report, [clients[each.node.pk][1] for each in answered])
        # Private keys are sent sealed. The node needs a sealing key that this database has.
        sealing_key(now=now)
        client.put_sealing_keys(all_sealing_keys())
        _compare_records(report, client, furthest.status.schema)
        note_breaks(report)
    except ReplicationError as exc:
        AheadReport.objects.filter(pk=report.pk).update(
            error=gettext("The comparison with the node failed: {exc}").format(exc=exc)
        )
    else:
        AheadReport.objects.filter(pk=report.pk).update(error="", ended_at=timezone.now())
        logger.info("asked node=%s report=%s", furthest.node.name, report.pk)
    finally:
        for _, client in clients.values():
            client.close()


def _enrolled_nodes() -> list[Node]:
    return list(Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_front=False).order_by("name"))


def _client(node: Node, now: datetime) -> NodeClient:
    context = client_ssl_context(ensure_authority(now=now))
    return client_of(node, context, answer_seconds=_ANSWER_SECONDS)


def _ask_all(clients: Iterable[tuple[Node, Knows]]) -> tuple[list[Answered], list[str]]:
    """Return the nodes that responded, and the names of the others."""
    answered, silent = [], []
    for node, client in clients:
        try:
            answered.append(Answered(node, client.status()))
        except ReplicationError as exc:
            if not isinstance(exc, NodeUnreachable):
                logger.warning("node=%s cannot be asked: %s", node.name, exc)
            silent.append(node.name)
    return answered, silent


def _furthest(answered: Sequence[Answered]) -> Answered | None:
    """Return the node to report on: the one with the highest sequence, preferably one with an unknown history.

    A fork at or below the head (same epoch, but digests that differ from the segment's) counts as an unknown history.
    """
    at = [each for each in answered if each.position is not None]
    return max(at, key=lambda each: (_is_ahead(each), _sequence(each)), default=None)


def _sequence(each: Answered) -> int:
    return each.position.sequence if each.position else 0


def _is_ahead(each: Answered) -> bool:
    """Return True if the node has publications that this panel doesn't know, even if it knows the position."""
    if each.position is None:
        return False
    head = LogHead.objects.get()
    is_known = publish_hold.is_of_this_history(each.position.epoch)
    if unknown_history.suspicion(each.node.name, each.position, Position(head.epoch, head.sequence), is_known=is_known):
        return True
    return _is_fork(each.position, each.status)


def _is_fork(position: Position, status: Status) -> bool:
    """Return True if the node applied different publications from the panel's up to this position.

    Flipped bits don't change running digests. Therefore, a running digest that differs from the segment's means that
    other publications were applied.
    """
    sealed = Segment.objects.filter(epoch=position.epoch, schema=status.schema, last=position.sequence)
    digest = sealed.values_list("digest", flat=True).first()
    return digest is not None and bytes(digest) != status.digest_main + status.digest_records


def _note_positions(
    report: AheadReport, answered: Sequence[Answered], silent: Sequence[str], furthest: Answered
) -> None:
    epochs: set[UUID] = {each.position.epoch for each in answered if each.position}
    AheadReport.objects.filter(pk=report.pk).update(
        node=furthest.node,
        node_name=furthest.node.name,
        is_ahead=_is_ahead(furthest),
        highest_sequence=max(map(_sequence, answered)),
        silent_nodes=list(silent),
        foreign_epochs=[epoch for epoch in epochs if not publish_hold.is_of_this_history(epoch)],
        zones_done=0,
        zones_total=Zone.objects.filter(deleted_at=None).count(),
        error="",
        ended_at=None,
    )


def _note_highest_id(report: AheadReport, clients: Iterable[Knows]) -> None:
    """Record the highest plausible zone id in the panel or on any node. Query each node only for higher ids."""
    ours = Zone.objects.aggregate(highest=Max("pk"))["highest"] or 0
    believable = report.zones.filter(id_there__lt=ours + _BELIEVABLE_IDS)
    highest = max(ours, believable.aggregate(highest=Max("id_there"))["highest"] or 0)
    for client in clients:
        believed = (zone.zone_id for zone in client.zones(highest) if zone.zone_id < ours + _BELIEVABLE_IDS)
        highest = max(believed, default=highest)
    AheadReport.objects.filter(pk=report.pk).update(highest_zone_id=highest)


# Lists of zones


def _compare_lists(report: AheadReport, client: Knows) -> None:
    after = 0
    served = client.zones()
    while page := list(islice(served, _PAGE)):
        last = page[-1].zone_id
        _compare_page(report, page, Zone.objects.filter(pk__gt=after, pk__lte=last, deleted_at=None))
        AheadReport.objects.filter(pk=report.pk).update(zones_done=F("zones_done") + len(page))
        after = last
    _compare_page(report, [], Zone.objects.filter(pk__gt=after, deleted_at=None))


def _compare_page(report: AheadReport, page: Sequence[ServedZone], ours: Any) -> None:
    in_panel = {zone.pk: zone for zone in ours.only("id", "name", "serial", "rrset_count")}
    on_node = {zone.zone_id: zone for zone in page}
    pairs = [(in_panel[id], zone) for id, zone in on_node.items() if id in in_panel and in_panel[id].name == zone.name]
    paired = {zone.pk for zone, _ in pairs}
    differing = [(ours_, theirs) for ours_, theirs in pairs if ours_.serial != theirs.serial]
    differing += _same_serial_other_digest([pair for pair in pairs if pair[0].serial == pair[1].serial])
    only_in_panel = [zone for id, zone in in_panel.items() if id not in paired]
    only_on_node = [zone for id, zone in on_node.items() if id not in paired]
    _note(
        [AheadZone(report=report, name=zone.name, id_here=zone.pk, serial_here=zone.serial) for zone in only_in_panel]
        + [AheadZone(report=report, name=z.name, id_here=z.pk, serial_here=z.serial) for z, _ in differing],
        ["id_here", "serial_here"],
    )
    trashed = dict(Zone.objects.filter(pk__in=list(on_node)).exclude(deleted_at=None).values_list("pk", "name"))
    _note(
        [_on_node(report, zone, trashed) for zone in only_on_node]
        + [_on_node(report, theirs, {}) for _, theirs in differing],
        ["id_there", "serial_there"],
    )


def _on_node(report: AheadReport, zone: ServedZone, trashed: Mapping[int, str]) -> AheadZone:
    in_trash = trashed.get(zone.zone_id) == zone.name
    return AheadZone(report=report, name=zone.name, id_there=zone.zone_id, serial_there=zone.serial, in_trash=in_trash)


def _note(zones: Sequence[AheadZone], fields: list[str]) -> None:
    """Write one row per zone name. If the zone has different ids on the node and in the panel, the row has both."""
    AheadZone.objects.bulk_create(zones, batch_size=1000, update_fields=fields, **_BY_NAME)  # type: ignore[arg-type]


def _same_serial_other_digest(pairs: Sequence[tuple[Zone, ServedZone]]) -> list[tuple[Zone, ServedZone]]:
    """Return the zones whose records differ from the panel's despite equal serials."""
    found = []
    for some in _in_portions([pair for pair in pairs if pair[1].digest]):
        ids = [zone.pk for zone, _ in some]
        rrsets, states = store_rrsets.rrsets_of_zones(ids), signing_of_zones(ids)
        for zone, theirs in some:
            denial = states[zone.pk].denial if zone.pk in states else None
            if _digest(zone, rrsets[zone.pk].values(), denial) != theirs.digest:
                found.append((zone, theirs))
    return found


def _in_portions(pairs: Sequence[tuple[Zone, ServedZone]]) -> Iterator[list[tuple[Zone, ServedZone]]]:
    portion: list[tuple[Zone, ServedZone]] = []
    size = 0
    for pair in pairs:
        portion.append(pair)
        size += pair[0].rrset_count
        if size >= _DIGEST_RRSETS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _digest(zone: Zone, rrsets: Iterable[RRset], denial: Nsec3 | None) -> str:
    step = ZoneStep(zone.pk, zone.name, zone.serial, served_before=False, is_full=True)
    _, digest = record_puts(zone.pk, compiled_rows(step, rrsets, denial))
    return digest_bytes(digest).hex()


# Records of zones that differ


def _compare_records(report: AheadReport, client: Knows, schema: int) -> None:
    zones = report.zones.filter(id_there__isnull=False).order_by("pk")
    AheadReport.objects.filter(pk=report.pk).update(zones_total=F("zones_done") + zones.count())
    for zone in zones.iterator(chunk_size=500):
        try:
            rrsets = list(_differences(zone, client))
            if zone.serial_there is None:
                raise BadBytes(what=gettext("the apex"), reason=gettext("the node doesn’t have an SOA record"))
        except NodeUnreachable:
            raise
        except ReplicationError as exc:
            AheadZone.objects.filter(pk=zone.pk).update(error=str(exc))
        else:
            AheadRRset.objects.bulk_create(rrsets, batch_size=1000)
            _note_signing(zone, client, schema)
        AheadReport.objects.filter(pk=report.pk).update(zones_done=F("zones_done") + 1)


def _differences(zone: AheadZone, client: Knows) -> Iterator[AheadRRset]:
    """Yield the RRsets that differ in more than the SOA serial or spellings, also from a zone in the panel's trash."""
    assert zone.id_there is not None
    on_node = {
        (rrset.name, rrset.type): rrset for rrset in rrsets_of_rows(zone.name, client.all_zone_rows(zone.id_there))
    }
    zone_id = zone.id_here or (zone.id_there if zone.in_trash else None)
    in_panel = store_rrsets.rrsets_of_zones([zone_id])[zone_id] if zone_id else {}
    for key in sorted({*in_panel, *on_node}):
        before, after = in_panel.get(key), taken_over(in_panel.get(key), on_node.get(key))
        if before == after or (zone_id and soa.same_to_dns(before, after)):
            continue
        yield AheadRRset(
            zone=zone,
            name=key[0],
            owner_key=relative_key(key[0], zone.name),
            type=key[1],
            here=before.to_json() if before else None,
            there=after.to_json() if after else None,
        )


def _note_signing(zone: AheadZone, client: Knows, schema: int) -> None:
    """Record the zone's signing on the node if the panel's differs, or the reason why the node's signing is unknown."""
    assert zone.id_there is not None
    zone_id = zone.id_here or (zone.id_there if zone.in_trash else None)
    try:
        signing = unknown_signing(zone.name, zone_id, client.attached_objects(zone.id_there), schema)
    except NodeUnreachable:
        raise
    except ReplicationError as exc:
        AheadZone.objects.filter(pk=zone.pk).update(
            signing_error=gettext("It’s unknown whether the node signs the zone: {exc}").format(exc=exc)
        )
    else:
        if signing is not None:
            AheadZone.objects.filter(pk=zone.pk).update(signing=signing.to_json())


def taken_over(in_panel: RRset | None, on_node: RRset | None) -> RRset | None:
    """Return the node's RRset plus the panel's comment, notes and disabled records, or None if empty. Pure."""
    if in_panel is None:
        return on_node
    kept = rdata.not_among(in_panel.type, in_panel.disabled, on_node.rdata if on_node else ())
    if on_node is None:
        notes = in_panel.notes.of_values(kept)
        return replace(in_panel, rdata=kept, disabled=kept, notes=notes) if kept else None
    if not kept:
        notes = notes_of_values(in_panel.notes, on_node.type, on_node.rdata)
        return replace(on_node, comment=in_panel.comment, notes=notes)
    values, remarks = [*on_node.rdata, *kept], in_panel.comment
    return make(on_node.name, on_node.type, on_node.ttl, values, kept, remarks, notes=in_panel.notes)
