"""Format the mail or webhook request that contains all of a route's due messages. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from dnspanel.alerts.alert_lines import merged_lines
from dnspanel.alerts.models import Alert, Message
from dnspanel.conditions import Severity
from dnspanel.texts import gettext, ngettext, spoken
from dnspanel.webhooks.payload import moment

# A mail has at most this number of lines, and sentences of equal alerts. The page lists all.
MOST_NAMED, MOST_EQUAL = 50, 3
_SUBJECT_START = "[dnspanel] "
_LONGEST_SUBJECT = 120


def subject_of(messages: Sequence[Message]) -> str:
    """Return the mail subject: one alert's text, the numbers of open and resolved alerts, or the text for a test."""
    wrong, over = _split(messages)
    if not wrong and not over:
        return _SUBJECT_START + gettext("Test message")
    lines = merged_lines([*wrong, *over])
    if len(lines) == 1 and not (wrong and over):
        sentence = lines[0].text
        description = gettext("Resolved: {sentence}").format(sentence=sentence) if over else sentence
        return _SUBJECT_START + (
            description if len(description) <= _LONGEST_SUBJECT else f"{description[: _LONGEST_SUBJECT - 1]}…"
        )
    parts = [ngettext("{count} alert", "{count} alerts", len(wrong)).format(count=len(wrong))] if wrong else []
    parts += [gettext("{count} resolved").format(count=len(over))] if over else []
    critical = sum(alert.severity == Severity.CRITICAL for alert in wrong)
    summary = ", ".join(parts)
    if critical:
        summary = gettext("{parts} ({count} critical)").format(parts=summary, count=critical)
    return f"{_SUBJECT_START}{summary}"


def text_of(messages: Sequence[Message], *, panel_url: str) -> str:
    """Return the mail body: first the open problems, then the resolved ones, each with the most severe first.

    For a test message, return only a note about the test.
    """
    wrong, over = _split(messages)
    if not wrong and not over:
        request = gettext("This is a test message for an alert route, requested at {url}").format(
            url=f"{panel_url}/alerts/"
        )
        well = gettext("No action is needed.")
        return f"{request}\n{well}\n"
    lines: list[str] = []
    if wrong:
        head = ngettext("{count} open problem:", "{count} open problems:", len(wrong)).format(count=len(wrong))
        lines += [head, *_lines(wrong), ""]
    if over:
        head = ngettext("{count} resolved problem:", "{count} resolved problems:", len(over)).format(count=len(over))
        lines += [head, *_lines(over), ""]
    return "\n".join([*lines, gettext("All open alerts: {url}").format(url=f"{panel_url}/alerts/"), ""])


def payload_of(messages: Sequence[Message], *, now: datetime) -> bytes:
    """Return the body of a webhook request in the Standard Webhooks format."""
    wrong, over = _split(messages)
    kind = "alerts" if wrong or over else "test"
    data = {"raised": [_alert_json(alert) for alert in wrong], "over": [_alert_json(alert) for alert in over]}
    message = {"event": kind, "timestamp": moment(now), "data": data}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def _split(messages: Sequence[Message]) -> tuple[list[Alert], list[Alert]]:
    """Return the open and the resolved problems, each with the most severe first. No alert is in both lists."""
    ended = {message.alert_id for message in messages if message.is_over}
    alerts = [(message.alert, message.is_over) for message in messages if message.alert is not None]
    wrong = [alert for alert, _ in alerts if alert.pk not in ended]
    over = [alert for alert, is_over in alerts if is_over]
    return sorted(wrong, key=_rank), sorted(over, key=_rank)


def _rank(alert: Alert) -> tuple[int, datetime, int]:
    return Severity(alert.severity).rank, alert.since, alert.pk


def _lines(alerts: Sequence[Alert]) -> list[str]:
    """Return a mail's lines about these alerts. Similar alerts share a line, with the first alerts' messages."""
    lines: list[str] = []
    merged = merged_lines(alerts)
    for line in merged[:MOST_NAMED]:
        since, time = _spoken(line.since), "{since} UTC"
        if line.over_at:
            time = gettext("{since} to {until} UTC")
        elif len(line.alerts) > 1:
            time = gettext("first at {since}, last at {until} UTC")
        time = time.format(since=since, until=_spoken(line.over_at or line.last))
        lines += [f"- {Severity(line.alert.severity).label}: {line.text}", f"  {time}"]
        if len(line.alerts) > 1:
            lines += [f"  {spoken(alert.sentence)}" for alert in line.alerts[:MOST_EQUAL]]
        if (more := len(line.alerts) - MOST_EQUAL) > 0:
            lines.append("  " + gettext("and {count} more").format(count=more))
    if len(merged) > MOST_NAMED:
        lines.append("- " + gettext("and {count} more").format(count=len(merged) - MOST_NAMED))
    return lines


def alert_attributes(alert: Alert) -> dict[str, object]:
    """Return an alert as the JSON object for webhooks."""
    return {
        "id": alert.pk,
        "key": alert.key,
        "kind": alert.kind,
        "severity": alert.severity,
        "sentence": alert.sentence,
        "since": moment(alert.since),
    }


def _alert_json(alert: Alert) -> dict[str, object]:
    return {**alert_attributes(alert), "over_at": moment(alert.over_at) if alert.over_at else None}


def _spoken(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
