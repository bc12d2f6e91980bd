"""Build a matrix of zones (rows) and the nodes on which these zones aren't at the panel's revision (columns)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from dnspanel.accounts.actors.actors import Right
from dnspanel.fleet.models import Divergence, Node, NodeState
from dnspanel.fleet.reads.queries import head
from dnspanel.texts import gettext
from dnspanel.zones.models import Revision, Zone
from dnspanel.zones.rights import access

MOST_ZONES = 100
_MOST_REVISIONS = 20_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A zone on a node. `kind` is same, behind, differs or nothing."""

    kind: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    zone: Zone
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Zones and nodes, both ordered by name. `more` is True if there are zones that aren't shown."""

    nodes: tuple[Node, ...]
    rows: tuple[Row, ...]
    total_nodes: int
    more: bool
    empty: tuple[str, ...] = ()  # nodes that have no data yet, by name; they are not compared

    @property
    def differing(self) -> int:
        return sum(any(cell.kind != "same" for cell in row.cells) for row in self.rows)


def matrix(*, person: access.Person, search: str = "") -> Matrix:
    """Return zones that differ on some node, and these nodes. A search returns all matching zones and nodes with data.

    Only zones that this person is allowed to read are included, at most MOST_ZONES. The number of queries doesn't
    depend on the number of nodes.
    """
    epoch = head().epoch
    active_nodes = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).order_by("name")
    everyone = list(active_nodes.only("name", "epoch", "acked"))
    have = {node.pk: node.acked if node.epoch == epoch else 0 for node in everyone}
    active = [node for node in everyone if have[node.pk]]
    empty = tuple(node.name for node in everyone if not have[node.pk])
    unrepaired = Divergence.objects.filter(repaired_at=None, node__in=have).order_by("zone_name")
    differing = list(unrepaired[: MOST_ZONES * 4])
    lowest = min((have[node.pk] for node in active), default=0)
    matching = Q(name__contains=search) if search else Q(sequence__gt=lowest) | Q(pk__in={d.zone_id for d in differing})
    exists = Q(deleted_at=None) | Q(sequence__gt=lowest)
    readable = access.zones_within_reach(person, Right.READ)
    zones = list(readable.filter(matching & exists).order_by("name")[: MOST_ZONES + 1]) if active else []
    on_page = zones[:MOST_ZONES]
    concerned = {d.node_id for d in differing}
    nodes = active if search else [node for node in active if node.pk in concerned or _lacks(node, have, on_page)]
    descriptions = {(d.zone_id, d.node_id): d.words for d in differing}
    revisions = _revisions_after(lowest, on_page)
    rows = tuple(
        Row(zone, tuple(_cell(zone, node, have[node.pk], descriptions, revisions) for node in nodes))
        for zone in on_page
    )
    return Matrix(tuple(nodes), rows, len(everyone), len(zones) > MOST_ZONES, empty)


def _lacks(node: Node, have: dict[int, int], zones: Sequence[Zone]) -> bool:
    return any(zone.sequence > have[node.pk] for zone in zones)


def _revisions_after(sequence: int, zones: Sequence[Zone]) -> dict[int, list[tuple[int, int]]]:
    """Return up to _MOST_REVISIONS later revisions as {zone id: [(sequence, number), …]}, oldest first."""
    found: dict[int, list[tuple[int, int]]] = {}
    rows = (
        Revision.objects.filter(zone__in=zones, publication_id__gt=sequence)
        .order_by("publication_id")
        .values_list("zone_id", "publication_id", "number")[:_MOST_REVISIONS]
    )
    for zone_id, at, number in rows:
        found.setdefault(zone_id, []).append((at, number))
    return found


def _cell(
    zone: Zone,
    node: Node,
    have: int,
    descriptions: dict[tuple[int, int], str],
    revisions: dict[int, list[tuple[int, int]]],
) -> Cell:
    if description := descriptions.get((zone.pk, node.pk)):
        return Cell("differs", "differs", description)
    if zone.sequence <= have:
        return Cell("same", "deleted" if zone.deleted_at else f"{zone.revision}")
    first = next((number for at, number in revisions.get(zone.pk, ()) if at > have), zone.revision)
    if first <= 1:
        return Cell("nothing", gettext("not yet"), gettext("The zone is not on this node yet."))
    return Cell(
        "behind",
        f"{first - 1}",
        gettext("The node serves revision {served}. The panel has revision {revision}.").format(
            served=first - 1, revision=zone.revision
        ),
    )
