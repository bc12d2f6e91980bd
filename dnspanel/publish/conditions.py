"""Alert conditions for stopped publishing and damaged segments."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.publish.models import Segment, Stall
from dnspanel.texts import gettext, gettext_noop, ngettext

KINDS = {
    "panel.stall": gettext_noop("Publishing is stopped"),
    "panel.object": gettext_noop("Segments are damaged or missing"),
}


@dataclass(frozen=True, slots=True)
class PublishInputs:
    """The reasons why publishing has stopped, one per affected schema, and the number of damaged segments."""

    stalls: tuple[str, ...] = ()
    damaged_segments: int = 0


def read_publishing(now: datetime, reading: Reading) -> PublishInputs:
    """Read the reasons why publishing has stopped, and the number of damaged segments, in two queries."""
    return PublishInputs(
        stalls=tuple(Stall.objects.order_by("schema").values_list("message", flat=True)),
        damaged_segments=Segment.objects.filter(damaged=True).count(),
    )


def publishing_conditions(inputs: PublishInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield an alert condition if publishing has stopped, and one if segments are damaged."""
    if inputs.stalls:
        message = gettext("Publishing is stopped. Reason: {reason}").format(reason=inputs.stalls[0])
        yield Condition("panel.stall", "panel.stall", Severity.CRITICAL, message)
    if inputs.damaged_segments:
        message = ngettext(
            "{count} segment in the storage is damaged or missing. Nodes that need it get a snapshot instead.",
            "{count:,} segments in the storage are damaged or missing. Nodes that need them get a snapshot instead.",
            inputs.damaged_segments,
        ).format(count=inputs.damaged_segments)
        yield Condition("panel.object", "panel.object", Severity.WARNING, message)


SUBJECT = Subject(PublishInputs, KINDS, read_publishing, publishing_conditions)
