"""Hold publishing until a person decides about publications that nodes have and the panel lacks. Verbs.

This happens after a backup is restored, or after a failover that lost the last commits. Nodes then serve changes that
the database doesn't contain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Choice
from dnspanel.texts import gettext
from dnspanel.zones.log.publish_hold import current_hold, hold, is_of_this_history
from dnspanel.zones.models import LogHead
from dnspanel.zones.rights import access
from replication.wire.position import Position

# The text that a person must type in addition to the choice, because both choices lose data permanently.
TYPED = {Choice.TAKE_OVER: "take over", Choice.KEEP: "keep the panel's"}
# The number of zones that an audit entry names.
_NAMED = 100


def suspicion(node_name: str, position: Position, head: Position, *, is_known: bool) -> str:
    """Return the reason why a node at this position requires a hold of publishing, or "" if no hold is required.

    `is_known` is True if the position's epoch is the current or a past epoch of this panel.
    """
    if position.epoch == head.epoch and position.sequence > head.sequence:
        return gettext(
            "Node {node_name} is at sequence {sequence}, but this panel has only published up to {head}. The "
            "panel’s database was probably restored from a backup or lost its most recent changes."
        ).format(node_name=node_name, sequence=position.sequence, head=head.sequence)
    if position.epoch != head.epoch and not is_known:
        return gettext(
            "Node {node_name} has a change history that this panel doesn’t recognize. The panel’s database "
            "was probably restored from a backup."
        ).format(node_name=node_name)
    return ""


def hold_if_ahead(*, positions: Iterable[tuple[str, Position]], now: datetime) -> bool:
    """Hold publishing and return True if the panel doesn't know one of the positions (node name, position).

    The positions must be read before this call. It reads the panel's own position later, so that a new publication
    doesn't make a node look ahead.
    """
    reported = list(positions)
    head = LogHead.objects.get() if reported else None
    for name, position in reported:
        assert head is not None
        newest = Position(head.epoch, head.sequence)
        is_known = position.epoch == head.epoch or is_of_this_history(position.epoch)
        if reason := suspicion(name, position, newest, is_known=is_known):
            if not head.held_reason:
                hold(reason=reason, now=now)
            return True
    return False


def report_of_hold(*, now: datetime) -> AheadReport | None:
    """Return the report about the current hold, and request it if necessary. Return None if there is no hold.

    A new report is requested if the last one is older than the hold or was carried out.
    """
    current = current_hold()
    if current is None:
        return None
    newest = newest_report()
    if newest is None or newest.asked_at < current.since or newest.carried_out_at is not None:
        return ask_anew(now=now)
    return newest


def newest_report() -> AheadReport | None:
    """Return the newest report about a history that only nodes have, or None if no report was requested."""
    return AheadReport.objects.order_by("-pk").first()


def ask_anew(*, now: datetime) -> AheadReport:
    """Request a new report from the nodes, and delete all reports whose decision wasn't carried out."""
    with transaction.atomic():
        AheadReport.objects.filter(carried_out_at=None).delete()
        return AheadReport.objects.create(asked_at=now, epoch=LogHead.objects.get().epoch)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The number of differing zones by kind, and of differing RRsets in zones that panel and node both have."""

    only_nodes: int
    only_panel: int
    differing: int
    rrsets: int
    unreadable: int  # zones on nodes that a takeover leaves out
    unreadable_here: int  # those of them that the panel also has
    signed: int  # zones that nodes sign differently from the panel
    broken: Mapping[str, int]  # by choice: zones that validating resolvers would no longer answer

    @property
    def zones(self) -> int:
        return self.only_nodes + self.only_panel + self.differing

    @property
    def created_count(self) -> int:
        """The number of zones that a takeover creates or restores."""
        return self.only_nodes - self.unreadable + self.unreadable_here

    @property
    def changed_count(self) -> int:
        """The number of existing zones that get a new revision in a takeover."""
        return self.differing - self.unreadable_here


def numbers(report: AheadReport) -> Numbers:
    """Count a report's differing zones and RRsets."""
    of_zones = report.zones.aggregate(
        only_nodes=Count("pk", filter=Q(id_here=None)),
        only_panel=Count("pk", filter=Q(id_there=None)),
        differing=Count("pk", filter=Q(id_there__isnull=False, id_here__isnull=False)),
        unreadable=Count("pk", filter=~Q(error="")),
        signed=Count("pk", filter=Q(signing__isnull=False)),
        unreadable_here=Count("pk", filter=~Q(error="") & Q(id_here__isnull=False)),
    )
    rrsets = AheadRRset.objects.filter(zone__report=report, zone__id_here__isnull=False).count()
    broken = {str(choice): report.zones.filter(breaks__has_key=choice).count() for choice in Choice}
    return Numbers(rrsets=rrsets, broken=broken, **of_zones)


def may_choose(report: AheadReport, choice: str) -> str:
    """Return the reason why this choice is impossible, or "" if it is possible."""
    if report.ended_at is None:
        return gettext("The nodes are still being compared.")
    if choice == Choice.TAKE_OVER and not report.is_ahead:
        return gettext("The nodes that responded don’t have any changes that the panel lacks.")
    return ""


def decide(  # noqa: PLR0913  # the fields of a decision
    *, report: AheadReport, choice: str, typed: str, reason: str, by: User, now: datetime, accepts_breaks: bool = False
) -> None:
    """Record the decision, which a worker executes. Raise WrongDecision if it is invalid, or Forbidden.

    If zones would fail validation after the choice, `accepts_breaks` and a reason are required.
    """
    access.require(by, Permission.NODES)
    if choice not in Choice.values:
        raise WrongDecision("choice", gettext("Choose an option."))
    if refusal := may_choose(report, choice):
        raise WrongDecision("choice", refusal)
    if typed.strip().lower() != TYPED[Choice(choice)]:
        raise WrongDecision(
            "typed", gettext("Type “{typed}” to confirm the decision.").format(typed=TYPED[Choice(choice)])
        )
    broken = report.zones.filter(breaks__has_key=choice)
    count = broken.count()
    if count and not accepts_breaks:
        raise WrongDecision(
            "accepts_breaks", gettext("Some zones would no longer validate. Confirm that you accept this.")
        )
    if count and not reason.strip():
        raise WrongDecision("reason", gettext("Enter a reason for breaking these zones."))
    with transaction.atomic():
        decided = AheadReport.objects.filter(pk=report.pk, choice="").update(
            choice=choice, reason=reason, decided_by=by, decided_at=now, error=""
        )
        if not decided:
            raise WrongDecision("choice", gettext("Someone else has already decided."))
        accepted = {}
        if count:
            accepted = {"broken": count, "zones": list(broken.order_by("pk").values_list("name", flat=True)[:_NAMED])}
        audit.record(action="epoch.decide", by=by, now=now, target=choice, reason=reason, **accepted)


# The filters of the list of zones.
KINDS = {
    "nodes": Q(id_here=None),
    "panel": Q(id_there=None),
    "differs": Q(id_here__isnull=False, id_there__isnull=False),
    "breaks": ~Q(breaks={}),
}


def zones_page(report: AheadReport, *, kind: str = "", after: int = 0, limit: int) -> list[AheadZone]:
    """Return a report's zones of this kind ("": any) with ids above `after`. Their `size` counts differing RRsets."""
    found = report.zones.filter(KINDS.get(kind, Q()), pk__gt=after)
    return list(found.annotate(size=Count("rrsets")).order_by("pk")[:limit])


def zone_of_report(pk: int) -> AheadZone:
    """Return the zone with this id from the newest report. Raise Unknown if the report doesn't contain it."""
    report = newest_report()
    found = AheadZone.objects.filter(report=report, pk=pk).first() if report else None
    if found is None:
        raise access.Unknown(f"number {pk} in what the nodes know")
    return found


def rrsets_page(zone: AheadZone, *, after: int = 0, limit: int) -> list[AheadRRset]:
    """Return a zone's next differing RRsets (ids above `after`), in canonical order of their names."""
    return list(zone.rrsets.filter(pk__gt=after).order_by("pk")[:limit])
