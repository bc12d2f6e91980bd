"""The text of one mail or request to a route, with all messages that are due together. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from dnspanel.alerts.models import Message
from dnspanel.conditions import Severity
from dnspanel.texts import gettext, ngettext, spoken
from dnspanel.webhooks.payload import moment

# A mail names at most this number of alerts. The page lists all.
MOST_NAMED = 50
_SUBJECT_START = "[dnspanel] "
_LONGEST_SUBJECT = 120


def subject_of(messages: Sequence[Message]) -> str:
    """Return the subject of a mail: the alert, or the number of alerts."""
    wrong, over = _split(messages)
    if not wrong and not over:
        return _SUBJECT_START + gettext("Test message")
    if len(wrong) + len(over) == 1:
        alert = (wrong or over)[0].alert
        assert alert is not None
        sentence = spoken(alert.sentence)
        description = gettext("Resolved: {sentence}").format(sentence=sentence) if over else sentence
        return _SUBJECT_START + (
            description if len(description) <= _LONGEST_SUBJECT else f"{description[: _LONGEST_SUBJECT - 1]}…"
        )
    parts = [ngettext("{count} alert", "{count} alerts", len(wrong)).format(count=len(wrong))] if wrong else []
    parts += [gettext("{count} resolved").format(count=len(over))] if over else []
    critical = sum(1 for message in wrong if message.alert and message.alert.severity == Severity.CRITICAL)
    told = ", ".join(parts)
    if critical:
        told = gettext("{parts} ({count} critical)").format(parts=told, count=critical)
    return f"{_SUBJECT_START}{told}"


def text_of(messages: Sequence[Message], *, panel_url: str) -> str:
    """Return the body of a mail: current problems, the worst first, then ended problems."""
    wrong, over = _split(messages)
    if not wrong and not over:
        request = gettext("This test message for an alert route was requested at {url}").format(
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
    """Return the body of a webhook request in the form of Standard Webhooks."""
    wrong, over = _split(messages)
    kind = "alerts" if wrong or over else "test"
    data = {"raised": [_alert_json(message) for message in wrong], "over": [_alert_json(message) for message in over]}
    message = {"event": kind, "timestamp": moment(now), "data": data}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def _split(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the current problems, the worst first, and the ended problems. No problem is in both lists."""
    ended = {message.alert_id for message in messages if message.is_over}
    told = [message for message in messages if message.alert is not None]
    wrong = [message for message in told if message.alert_id not in ended]
    over = [message for message in told if message.is_over]
    return sorted(wrong, key=_rank), sorted(over, key=_rank)


def _rank(message: Message) -> tuple[bool, datetime, int]:
    assert message.alert is not None
    return message.alert.severity != Severity.CRITICAL, message.alert.since, message.alert.pk


def _lines(messages: Sequence[Message]) -> list[str]:
    lines = []
    for message in messages[:MOST_NAMED]:
        assert message.alert is not None
        alert = message.alert
        since, over_at = _spoken(alert.since), alert.over_at if message.is_over else None
        time = (
            gettext("{since} to {until} UTC").format(since=since, until=_spoken(over_at)) if over_at else f"{since} UTC"
        )
        lines += [f"- {Severity(alert.severity).label}: {spoken(alert.sentence)}", f"  {time}"]
    if len(messages) > MOST_NAMED:
        lines.append("- " + gettext("and {count} more").format(count=len(messages) - MOST_NAMED))
    return lines


def _alert_json(message: Message) -> dict[str, object]:
    alert = message.alert
    assert alert is not None
    return {
        "id": alert.pk,
        "key": alert.key,
        "kind": alert.kind,
        "severity": alert.severity,
        "sentence": alert.sentence,
        "since": moment(alert.since),
        "over_at": moment(alert.over_at) if alert.over_at else None,
    }


def _spoken(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
