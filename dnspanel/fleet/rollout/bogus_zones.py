"""Handle zones that fail validation on a node for a reason other than a publication. Verbs.

If a signer itself is broken (clock, program, keys), this must not delay all other zones. The test is whether validation
also fails for the part of the zone that no publication has touched. If so, the node's pushes continue without proof of
this zone until the zone validates on it again. Content still needs proof, and so do changes to the zone's signing.
"""

import contextlib
import logging
import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from dnspanel.fleet import events
from dnspanel.fleet.models import Isolation, Node, NodeState, UnprovenZone
from dnspanel.texts import gettext
from dnspanel.zones.models import Change, Publication, Revision, RevisionKind, RRset, SigningChange, Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from replication.dns import names, rdata, rdtypes
from replication.errors import NotServed
from replication.verify_signatures import WITH_DNSSEC, complaint_of
from replication.wire.protocol import MAX_UNPROVEN

# The limit for one node. A node with more such zones refuses pushes, and a person must decide what to do.
MOST = MAX_UNPROVEN
# Queries: this many RRsets at the apex, within this time.
MOST_TYPES = 4
SECONDS = 3.0
LOOK_EVERY = timedelta(seconds=15)
MOST_LOOKS = 10

_TIMES = 2
_NO_EVIDENCE = (rdtypes.ALIAS, rdtypes.LUA, rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY)
_BROUGHT = (RevisionKind.CREATE, RevisionKind.RESTORE)

logger = logging.getLogger(__name__)


def zone_of(error: NotServed) -> Zone | None:
    """Return the zone whose signatures an agent reports as invalid, or None for other errors."""
    if not error.question.endswith(WITH_DNSSEC):
        return None
    name = error.question.split()[0]
    apexes = [name, *ancestors_within(name, names.ROOT)]
    return max(Zone.objects.filter(name__in=apexes, deleted_at=None), key=lambda each: len(each.name), default=None)


def let_pass(*, node: Node, error: NotServed, now: datetime, is_exhausted: bool = False) -> bool:
    """Stop requiring proof of the zone in `error` if no publication is the cause. Return True if this was done.

    There are two ways to show that no publication is the cause. Validation fails for data that no publication since the
    node's ack has touched, or it still fails after these publications were reverted (`is_exhausted`). Proof stays
    required if the publications change how the zone is signed, create it or restore it. It also stays required if MOST
    zones are in this state already.
    """
    zone = zone_of(error)
    if zone is None or _is_signed_anew(node, zone) or brought_by(node, zone) is not None:
        return False
    is_at_fault = fails_besides(node=node, zone=zone, now=now)
    if not is_at_fault and not (is_exhausted and fails_still(node=node, zone=zone, error=error, now=now)):
        return False
    return _keep(node, zone, error, now)


def _keep(node: Node, zone: Zone, error: NotServed, now: datetime) -> bool:
    if UnprovenZone.objects.filter(node=node).count() >= MOST:
        return False
    defaults = {"problem": str(error), "since": now, "looked_at": now}
    _, is_new = UnprovenZone.objects.get_or_create(node=node, zone=zone, defaults=defaults)
    if is_new:
        message = gettext(
            "{name} doesn’t validate on this node, but this wasn’t caused by a publication: {error}."
        ).format(name=zone.name, error=error)
        events.note(node_id=node.pk, kind="unproven", message=message, now=now)
        logger.error("unproven node=%s zone=%s: %s", node.name, zone.name, error)
    return is_new


def fails_besides(*, node: Node, zone: Zone, now: datetime) -> bool:
    """Return True if validation fails for apex RRsets that no publication since the node's ack has touched.

    Return False if these publications changed the DNSKEY RRset, or created or restored the zone.
    """
    since = Change.objects.filter(revision__zone=zone, revision__publication__gt=node.acked, name=zone.name)
    touched = {*since.values_list("type", flat=True), rdtypes.SOA}
    if rdtypes.DNSKEY in touched or brought_by(node, zone) is not None:
        return False
    return _fails(node, zone, _at_apex(zone, leave_out=touched), now)


def fails_still(*, node: Node, zone: Zone, error: NotServed, now: datetime) -> bool:
    """Repeat the query in the agent's error. Return True if the node's answer still fails validation."""
    name, type, *_ = error.question.split()
    return _fails(node, zone, [(name, rdata.type_from_text(type))], now)


def brought_by(node: Node, zone: Zone) -> int | None:
    """Return the sequence of the newest publication that created or restored the zone and that the node lacks."""
    brought = Revision.objects.filter(zone=zone, publication__gt=node.acked, kind__in=_BROUGHT)
    return brought.order_by("-publication").values_list("publication_id", flat=True).first()


def names_of(node: Node) -> list[str]:
    """Return the names of zones whose signatures need no proof in a push to this node.

    Zones whose signing changes in a pending publication are excluded.
    """
    rows = UnprovenZone.objects.filter(node=node, zone__deleted_at=None).exclude(_signed_anew(node, OuterRef("zone")))
    return list(rows.order_by("zone__name").values_list("zone__name", flat=True))


def names_for_snapshot(node: Node) -> list[str]:
    """Return the names of at most MOST zones that need no proof in a snapshot: `names_of` this node and ring 0."""
    names = names_of(node)
    for ring0 in Node.objects.filter(is_ring0=True, state=NodeState.ACTIVE).exclude(pk=node.pk):
        names += [name for name in names_of(ring0) if name not in names]
    return names[:MOST]


def let_pass_as_ring0(*, node: Node, names: Collection[str], now: datetime) -> None:
    """Record zones that fail validation on ring 0 and, after a snapshot, also on this node.

    The first MOST_LOOKS of these zones are checked. A push finds the others.
    """
    known = UnprovenZone.objects.filter(node=node).values("zone")
    for zone in (
        Zone.objects.filter(name__in=names, deleted_at=None).exclude(pk__in=known).order_by("name")[:MOST_LOOKS]
    ):
        with contextlib.suppress(NotServed):  # no answer proves nothing
            if found := complaint(node, zone, [*_at_apex(zone), *questions_of(zone)], now):
                _keep(node, zone, found, now)


def look(*, now: datetime) -> None:
    """Check up to MOST_LOOKS due entries, oldest check first. Delete those whose zones now validate on their nodes.

    First delete the entries of zones that are deleted or not signed, and of nodes that are neither active nor drained.
    """
    served = UnprovenZone.objects.filter(
        node__state__in=(NodeState.ACTIVE, NodeState.DRAINED), zone__deleted_at=None, zone__signing__is_signed=True
    )
    UnprovenZone.objects.exclude(pk__in=served.values("pk")).delete()
    due = UnprovenZone.objects.filter(looked_at__lte=now - LOOK_EVERY).select_related("node", "zone")
    for row in due.order_by("looked_at")[:MOST_LOOKS]:
        questions = [*_at_apex(row.zone), *questions_of(row.zone)]
        try:
            found = complaint(row.node, row.zone, questions, now)
            problem = str(found) if found else ""
        except NotServed:  # no answer proves nothing
            problem = row.problem
        if problem:
            UnprovenZone.objects.filter(pk=row.pk).update(problem=problem, looked_at=now)
        elif UnprovenZone.objects.filter(pk=row.pk).delete()[0]:
            events.note(
                node_id=row.node_id,
                kind="unproven",
                message=gettext("{name} validates on this node again.").format(name=row.zone.name),
                now=now,
            )


def questions_of(zone: Zone) -> list[tuple[str, int]]:
    """Return queries whose answers must be signed in every signed zone: its SOA, and a name that doesn't exist."""
    return [(zone.name, rdtypes.SOA), (f"absent-{secrets.token_hex(4)}.{zone.name.lstrip('.')}", rdtypes.A)]


def _fails(node: Node, zone: Zone, questions: Iterable[tuple[str, int]], now: datetime) -> bool:
    """Return True if validation fails in every attempt. Return False if the node doesn't answer at all."""
    try:
        return all(complaint(node, zone, questions, now) for _ in range(_TIMES))
    except NotServed:
        return False


def complaint(node: Node, zone: Zone, questions: Iterable[tuple[str, int]], now: datetime) -> NotServed | None:
    """Return the fault in the node's signatures, or None if they are valid. Raise NotServed without an answer."""
    address = str(node.dns_address)
    return complaint_of(zone.name, questions, address, node.dns_port, now=now.timestamp(), seconds=SECONDS)


def _at_apex(zone: Zone, *, leave_out: Collection[int] = (rdtypes.SOA,)) -> list[tuple[str, int]]:
    """Return (name, type) of at most MOST_TYPES served apex RRsets, without `leave_out` and types without evidence."""
    rows = RRset.objects.filter(zone=zone, name=zone.name).exclude(type__in=(*_NO_EVIDENCE, *leave_out))
    return [(zone.name, row.type) for row in rows.order_by("type") if set(row.rdata) - set(row.disabled)][:MOST_TYPES]


def _is_signed_anew(node: Node, zone: Zone) -> bool:
    return Zone.objects.filter(_signed_anew(node, OuterRef("pk")), pk=zone.pk).exists()


def _signed_anew(node: Node, zone: OuterRef) -> Exists:
    """Return a condition for zones whose signing changes with publications that the node hasn't acknowledged.

    Reverted publications, and their reverts, don't count.
    """
    undone = Publication.objects.exclude(failed_reason="").filter(sequence__gt=node.acked).values("sequence")
    changes = Revision.objects.filter(
        zone=zone,
        publication__gt=node.acked,
        number__in=SigningChange.objects.filter(zone=OuterRef("zone"), revision_number=OuterRef("number")).values(
            "revision_number"
        ),
    )
    inverses = Isolation.objects.filter(failed__gt=node.acked).values("inverse")
    return Exists(changes.exclude(publication__in=undone).exclude(publication__in=inverses))
