"""Merge similar alerts into lines for pages and mails. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from dnspanel.alerts.models import Alert
from dnspanel.conditions import Severity, title_of_equal
from dnspanel.texts import spoken


@dataclass(frozen=True, slots=True)
class AlertLine:
    """Alerts of one kind and severity, sorted by id. Either all of them are muted, or none."""

    alerts: tuple[Alert, ...]
    is_muted: bool = False

    @property
    def alert(self) -> Alert:
        """The oldest of the alerts."""
        return self.alerts[0]

    @property
    def newest(self) -> Alert:
        return self.alerts[-1]

    @property
    def key(self) -> str:
        """An identifier that stays the same when alerts are added to or removed from the line."""
        return f"{self.alert.kind}-{self.alert.severity}{'-muted' if self.is_muted else ''}"

    @property
    def text(self) -> str:
        """The message of a single alert, or the title and number of several alerts."""
        count = len(self.alerts)
        return spoken(self.alert.sentence) if count == 1 else title_of_equal(self.alert.kind, count)

    @property
    def since(self) -> datetime:
        return min(alert.since for alert in self.alerts)

    @property
    def last(self) -> datetime:
        """The time when the newest alert began."""
        return max(alert.since for alert in self.alerts)

    @property
    def over_at(self) -> datetime | None:
        """The time when the last alert ended, or None if one is still open."""
        ends = [alert.over_at for alert in self.alerts if alert.over_at]
        return max(ends) if len(ends) == len(self.alerts) else None

    def needs_attention_of(self, person_id: int) -> bool:
        """Return True if the severity is above INFO, and the line is neither muted nor marked as read by this user."""
        is_urgent = self.alert.severity != Severity.INFO and not self.is_muted
        return is_urgent and not self.is_read_by(person_id)

    def is_read_by(self, person_id: int) -> bool:
        return all(person_id in alert.read_by for alert in self.alerts)


def merged_lines(alerts: Iterable[Alert], now: datetime | None = None) -> list[AlertLine]:
    """Merge alerts into lines, sorted by urgency and start time, muted ones last. If `now` is None, none are muted."""
    found: dict[tuple[bool, str, str], list[Alert]] = {}
    for alert in sorted(alerts, key=lambda each: each.pk):
        is_muted = now is not None and alert.muted_until is not None and alert.muted_until > now
        found.setdefault((is_muted, alert.severity, alert.kind), []).append(alert)
    lines = [AlertLine(tuple(equal), is_muted) for (is_muted, _, _), equal in found.items()]
    return sorted(lines, key=lambda line: (line.is_muted, Severity(line.alert.severity).rank, line.since))
