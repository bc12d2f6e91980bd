"""What people read of events: a line for each, and the bodies that chats take. Pure.

What others wrote (names, reasons) is text here, whatever a chat would make of it: no link, no call of everybody.
"""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dnspanel.webhooks.models import EventKind, Format

_NAMED_ZONES = 3
_LONGEST_REASON = 300
# Behind a backslash each of them is itself; a space of no width behind "@" keeps a chat from calling somebody.
_MARKDOWN = str.maketrans({**{sign: f"\\{sign}" for sign in "\\`*_[]()#~|<>!"}, "@": "@\u200b", "\n": " "})


@dataclass(frozen=True, slots=True)
class Line:
    """What happened, in a sentence, and the page that shows it; "" where there is none."""

    text: str
    url: str = ""


def line_of(kind: str, facts: Mapping[str, Any], *, url: str = "") -> Line:
    """The sentence for an event of which `payload.contents` gave these facts."""
    return Line(_MESSAGES[EventKind(kind)](facts), url)


def subject_of(lines: Sequence[Line]) -> str:
    """The subject of a mail with these lines."""
    first = lines[0].text.partition("\n")[0]
    return f"[dnspanel] {first[:150]}" if len(lines) == 1 else f"[dnspanel] {len(lines)} events; {first[:120]}"


def mail_text(lines: Sequence[Line], *, settings_url: str, stop_url: str) -> str:
    """The text of a mail with these lines, and how to change or stop such mails."""
    told = "\n\n".join(f"{line.text}\n{line.url}".rstrip() for line in lines)
    return f"{told}\n\n-- \nYou asked for these mails: {settings_url}\nStop them: {stop_url}\n"


def chat_body(format: str, lines: Sequence[Line]) -> bytes:
    """The JSON that the incoming webhook of this chat takes."""
    return json.dumps(_BODIES[Format(format)](lines), ensure_ascii=False).encode("utf-8", "replace")


# Sentences


def _saved(facts: Mapping[str, Any]) -> str:
    count, zones = facts["zone_count"], facts["zones"]
    changes = sum(zone["added"] + zone["changed"] + zone["removed"] for zone in zones)
    who = facts["author"] or "The panel"
    what = f"{changes} RRset{'' if changes == 1 else 's'} in " if changes and count == len(zones) else ""
    sentence = f"{who} changed {what}{_named(zones, count)}"
    if facts["token"]:
        sentence += f" with the token “{facts['token']}”"
    return _with_reason(sentence, facts)


def _everywhere(facts: Mapping[str, Any]) -> str:
    named = _named(facts["zones"], facts["zone_count"])
    return _with_stop(f"Every node answers with publication {facts['sequence']} of {named}")


def _with_reason(sentence: str, facts: Mapping[str, Any]) -> str:
    """The sentence and its reason, if it has one."""
    if reason := facts["reason"].strip():
        cut = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
        return f"{sentence}: {cut}"
    return _with_stop(sentence)


def _with_stop(sentence: str) -> str:
    """With a full stop, which a name at its end may have already."""
    return sentence if sentence.endswith(".") else f"{sentence}."


def _named(zones: Sequence[Mapping[str, Any]], count: int) -> str:
    return _listed([zone["name"] for zone in zones], count)


def _listed(names: Sequence[str], count: int) -> str:
    more = count - min(len(names), _NAMED_ZONES)
    first = ", ".join(names[:_NAMED_ZONES])
    return f"{first} and {more:,} more zone{'' if more == 1 else 's'}" if more else first


def _opened(facts: Mapping[str, Any]) -> str:
    named = _listed(facts["zones"], facts["zone_count"])
    return _with_reason(f"{facts['author'] or 'Somebody'} asks for approval of “{facts['name']}” in {named}", facts)


def _ended(facts: Mapping[str, Any]) -> str:
    by = f" by {facts['by']}" if facts["by"] else ""
    named = _listed(facts["zones"], facts["zone_count"])
    state = "published past approval" if facts["state"] == "past-rules" else facts["state"]
    return _with_reason(f"The request “{facts['name']}” in {named} was {state}{by}", facts)


def _node(facts: Mapping[str, Any]) -> str:
    was = f" (it was {facts['was']})" if facts["was"] else ""
    return f"Node {facts['name']} is {facts['state']}{was}. {facts['sentence']}".rstrip()


def _import(facts: Mapping[str, Any]) -> str:
    sentence = (
        f"The import “{facts['title']}” ended ({facts['state']}): {facts['zones']:,} zones, "
        f"{facts['records']:,} records, {facts['errors']:,} with errors."
    )
    return f"{sentence} {facts['failure']}".rstrip()


def _alert(facts: Mapping[str, Any]) -> str:
    return _with_stop(f"{facts['severity'].capitalize()}: {facts['sentence']}")


def _alert_over(facts: Mapping[str, Any]) -> str:
    return _with_stop(f"Over: {facts['sentence']}")


def _ping(facts: Mapping[str, Any]) -> str:
    return str(facts["message"])


_MESSAGES: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.SAVED: _saved,
    EventKind.EVERYWHERE: _everywhere,
    EventKind.OPENED: _opened,
    EventKind.ENDED: _ended,
    EventKind.NODE: _node,
    EventKind.IMPORT: _import,
    EventKind.ALERT: _alert,
    EventKind.ALERT_OVER: _alert_over,
    EventKind.PING: _ping,
}


# Bodies


def _slack(lines: Sequence[Line]) -> dict[str, Any]:
    """https://docs.slack.dev/messaging/formatting-message-text: three characters are escaped."""
    return {"text": "\n".join(map(_escaped, lines))}


def _mattermost(lines: Sequence[Line]) -> dict[str, Any]:
    """https://developers.mattermost.com/integrate/webhooks/incoming: Markdown."""
    return {"text": "\n".join(f"- {_markdown(line)}" for line in lines)}


def _teams(lines: Sequence[Line]) -> dict[str, Any]:
    """An Adaptive Card, as the webhooks of Teams workflows take it."""
    blocks = [{"type": "TextBlock", "wrap": True, "text": _markdown(line)} for line in lines]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


_BODIES: Mapping[Format, Callable[[Sequence[Line]], dict[str, Any]]] = {
    Format.SLACK: _slack,
    Format.MATTERMOST: _mattermost,
    Format.TEAMS: _teams,
}


def _escaped(line: Line) -> str:
    text = html.escape(line.text, quote=False)
    return f"{text} <{line.url}|Open>" if line.url else text


def _markdown(line: Line) -> str:
    text = line.text.translate(_MARKDOWN)
    return f"{text} [Open]({line.url})" if line.url else text
