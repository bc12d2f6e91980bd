"""Alert conditions for audit log destinations: failing, behind, or rejecting entries."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dnspanel.audit.forward.destination_health import DestinationHealth, destinations_health
from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.texts import duration_text, gettext, gettext_noop, ngettext

FAILS_FOR, CRITICAL = timedelta(minutes=5), timedelta(hours=1)
# A destination that is catching up counts as behind only if it has accepted nothing for this time.
BEHIND_FOR = timedelta(minutes=10)
REJECTED_FOR = timedelta(days=1)

KINDS = {
    "panel.evidence": gettext_noop("Audit log destination isn’t accepting entries"),
    "panel.evidence_behind": gettext_noop("Audit log destination is behind"),
    "panel.evidence_rejected": gettext_noop("Audit log destination rejected entries"),
}


@dataclass(frozen=True, slots=True)
class EvidenceInputs:
    """The state of all active destinations."""

    destinations: tuple[DestinationHealth, ...] = ()


def read_destinations(now: datetime, reading: Reading) -> EvidenceInputs:
    """Read the state of all active destinations. This takes one query if there are none, and at most five otherwise."""
    return EvidenceInputs(destinations_health())


def evidence_conditions(inputs: EvidenceInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield the destinations' problems. A failing destination is also behind, but only its failure is yielded."""
    for each in inputs.destinations:
        key, about = f"evidence:{each.pk}", (f"destination:{each.pk}",)
        if each.failing_since is not None and (lasting := now - each.failing_since) >= FAILS_FOR:
            severity = Severity.CRITICAL if lasting >= CRITICAL else Severity.WARNING
            message = ngettext(
                "{name} hasn’t accepted any audit log entries for {time}. {count} entry is waiting.",
                "{name} hasn’t accepted any audit log entries for {time}. {count:,} entries are waiting.",
                each.behind,
            ).format(name=each.name, time=duration_text(lasting), count=each.behind)
            yield Condition(key, "panel.evidence", severity, message, about=about)
        elif _is_behind(each, now):
            message = ngettext(
                "Sending audit log entries to {name} has stopped. {count} entry is waiting.",
                "Sending audit log entries to {name} has stopped. {count:,} entries are waiting.",
                each.behind,
            ).format(name=each.name, count=each.behind)
            yield Condition(key, "panel.evidence_behind", Severity.WARNING, message, about=about)
        if each.rejected_at is not None and now - each.rejected_at < REJECTED_FOR:
            message = gettext("{name} rejected audit log entries. For the reason, see the destination’s page.").format(
                name=each.name
            )
            kind = "panel.evidence_rejected"
            yield Condition(f"{kind}:{each.pk}", kind, Severity.WARNING, message, about=about)


def _is_behind(destination: DestinationHealth, now: datetime) -> bool:
    """Return True if, without a failure, an entry has waited BEHIND_FOR and nothing was sent or changed for as long."""
    times = (destination.oldest_at, destination.sent_at, destination.begun_at)
    is_slow = all(at is None or now - at >= BEHIND_FOR for at in times)
    return is_slow and destination.oldest_at is not None and destination.failing_since is None


SUBJECT = Subject(EvidenceInputs, KINDS, read_destinations, evidence_conditions)
