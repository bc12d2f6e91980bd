"""Texts about events for people: one line per event, and request bodies for chat services. Pure.

Names and reasons that users wrote are escaped for each chat service. They can't create links or mention anyone.
"""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dnspanel.conditions import title_of_equal
from dnspanel.texts import gettext, gettext_noop, ngettext, spoken
from dnspanel.webhooks.models import EventKind, Format

_NAMED_ZONES = 3
_LONGEST_REASON = 300
# A backslash before each of them keeps it literal; a zero-width space after "@" prevents mentions of people.
_MARKDOWN = str.maketrans({**{sign: f"\\{sign}" for sign in "\\`*_[]()#~|<>!"}, "@": "@\u200b", "\n": " "})


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence about an event, and the URL of its page (can be empty)."""

    text: str
    url: str = ""


def line_of(kind: str, facts: Mapping[str, Any], *, url: str = "") -> Line:
    """Return the sentence for an event with this data, which comes from `payload.contents`."""
    return Line(_MESSAGES[EventKind(kind)](facts), url)


def lines_of(events: Sequence[tuple[str, Mapping[str, Any], str]]) -> list[Line]:
    """Return sentences for events (kind, facts, URL). Alerts of one kind and severity become one line with a count."""
    equal: dict[object, list[tuple[str, Mapping[str, Any], str]]] = {}
    for number, (kind, facts, url) in enumerate(events):
        key = (kind, facts["kind"], facts["severity"]) if "severity" in facts else number
        equal.setdefault(key, []).append((kind, facts, url))
    lines = []
    for (kind, facts, url), *more in equal.values():
        title = {"sentence": title_of_equal(facts["kind"], len(more) + 1)} if more else {}
        lines.append(line_of(kind, {**facts, **title}, url=url))
    return lines


def subject_of(lines: Sequence[Line]) -> str:
    """Return the subject for an email with these lines."""
    first = lines[0].text.partition("\n")[0]
    if len(lines) == 1:
        return f"[dnspanel] {first[:150]}"
    return "[dnspanel] " + gettext("{count} events, starting with: {first}").format(count=len(lines), first=first[:120])


def mail_text(lines: Sequence[Line], *, settings_url: str, stop_url: str) -> str:
    """Return an email's text with these lines, a link to the webhook's settings, and a link to unsubscribe."""
    told = "\n\n".join(f"{line.text}\n{line.url}".rstrip() for line in lines)
    request = gettext("You subscribed to these emails: {url}").format(url=settings_url)
    stop = gettext("Stop these emails: {url}").format(url=stop_url)
    return f"{told}\n\n-- \n{request}\n{stop}\n"


def chat_body(chat_format: str, lines: Sequence[Line]) -> bytes:
    """Return the JSON body for the incoming webhook of this chat service."""
    return json.dumps(_BODIES[Format(chat_format)](lines), ensure_ascii=False).encode("utf-8", "replace")


# Sentences


def _text_of_publication(facts: Mapping[str, Any]) -> str:
    count, zones = facts["zone_count"], facts["zones"]
    changes = sum(zone["added"] + zone["changed"] + zone["removed"] for zone in zones)
    actor = facts["actor"]
    who, token = actor["user"] or gettext("The panel"), actor["token"] and actor["token"]["purpose"]
    if changes and count == len(zones):
        message = ngettext("{who} changed {count} RRset in {zones}", "{who} changed {count} RRsets in {zones}", changes)
        if token:
            message = ngettext(
                "{who} changed {count} RRset in {zones} with the token “{token}”",
                "{who} changed {count} RRsets in {zones} with the token “{token}”",
                changes,
            )
    elif token:
        message = gettext("{who} changed {zones} with the token “{token}”")
    else:
        message = gettext("{who} changed {zones}")
    return _with_reason(message.format(who=who, count=changes, zones=_text_of_zones(zones, count), token=token), facts)


def _everywhere(facts: Mapping[str, Any]) -> str:
    named = _text_of_zones(facts["zones"], facts["zone_count"])
    return _with_stop(
        gettext("All nodes now serve publication {sequence} of {zones}").format(sequence=facts["sequence"], zones=named)
    )


def _taken_back(facts: Mapping[str, Any]) -> str:
    message = gettext("Publication {sequence} of {zones} was reverted because nodes couldn’t serve it. {why}")
    named = _text_of_zones(facts["zones"], facts["zone_count"])
    return message.format(sequence=facts["sequence"], zones=named, why=spoken(facts["taken_back"]["reason"])).rstrip()


def _with_reason(sentence: str, facts: Mapping[str, Any]) -> str:
    """Append the reason to the sentence, or a period if the data contains no reason."""
    if reason := facts["reason"].strip():
        cut = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
        return f"{sentence}: {cut}"
    return _with_stop(sentence)


def _with_stop(sentence: str) -> str:
    """End the sentence with exactly one period. A name at its end can already have a period."""
    return sentence if sentence.endswith((".", "。")) else f"{sentence}."


def _text_of_zones(zones: Sequence[Mapping[str, Any]], count: int) -> str:
    return _join_names([zone["zone"] for zone in zones], count)


def _join_names(names: Sequence[str], count: int) -> str:
    more = count - min(len(names), _NAMED_ZONES)
    first = ", ".join(names[:_NAMED_ZONES])
    if not more:
        return first
    return ngettext("{first} and {count:,} more zone", "{first} and {count:,} more zones", more).format(
        first=first, count=more
    )


def _text_of_new_request(facts: Mapping[str, Any]) -> str:
    named = _join_names(facts["zones"], facts["zone_count"])
    message = gettext("{who} requested approval for “{name}” in {zones}").format(
        who=_person(facts["asked_by"]) or gettext("Someone"), name=facts["name"], zones=named
    )
    return _with_reason(message, facts)


# The outcome of a request, without and with its person.
_ENDED = {
    "published": (
        gettext_noop("The request “{name}” in {zones} was published"),
        gettext_noop("The request “{name}” in {zones} was published by {by}"),
    ),
    "declined": (
        gettext_noop("The request “{name}” in {zones} was declined"),
        gettext_noop("The request “{name}” in {zones} was declined by {by}"),
    ),
    "withdrawn": (
        gettext_noop("The request “{name}” in {zones} was withdrawn"),
        gettext_noop("The request “{name}” in {zones} was withdrawn by {by}"),
    ),
    "past-rules": (
        gettext_noop("The request “{name}” in {zones} was published without approval"),
        gettext_noop("The request “{name}” in {zones} was published without approval by {by}"),
    ),
}


def _text_of_ended_request(facts: Mapping[str, Any]) -> str:
    message = _ENDED.get(facts["state"], _ENDED["past-rules"])
    named = _join_names(facts["zones"], facts["zone_count"])
    by = _person(facts["ended_by"])
    said = gettext(message[bool(by)]).format(name=facts["name"], zones=named, by=by)
    return _with_reason(said, facts)


def _person(actor: Mapping[str, Any] | None) -> str:
    return (actor["user"] or "") if actor else ""


def _node(facts: Mapping[str, Any]) -> str:
    message = (
        gettext("Node {name} is {state} (previously {was}). {sentence}")
        if facts["was"]
        else gettext("Node {name} is {state}. {sentence}")
    )
    return message.format(
        name=facts["node"],
        state=gettext(facts["state"]),
        was=gettext(facts["was"]) if facts["was"] else "",
        sentence=spoken(facts["sentence"]),
    ).rstrip()


def _import(facts: Mapping[str, Any]) -> str:
    sentence = gettext(
        "The import “{title}” ended ({state}): {zones:,} zones, {records:,} records, {errors:,} with errors."
    ).format(
        title=facts["title"],
        state=gettext(facts["state"]),
        zones=facts["zone_count"],
        records=facts["records"],
        errors=facts["errors"],
    )
    return f"{sentence} {spoken(facts['failure'])}".rstrip()


def _alert(facts: Mapping[str, Any]) -> str:
    message = {"critical": gettext("Critical: {sentence}"), "info": gettext("Information: {sentence}")}.get(
        facts["severity"], gettext("Warning: {sentence}")
    )
    return _with_stop(message.format(sentence=spoken(facts["sentence"])))


def _alert_over(facts: Mapping[str, Any]) -> str:
    return _with_stop(gettext("Resolved: {sentence}").format(sentence=spoken(facts["sentence"])))


def _ping(facts: Mapping[str, Any]) -> str:
    return spoken(facts["message"])


_MESSAGES: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.SAVED: _text_of_publication,
    EventKind.EVERYWHERE: _everywhere,
    EventKind.TAKEN_BACK: _taken_back,
    EventKind.OPENED: _text_of_new_request,
    EventKind.ENDED: _text_of_ended_request,
    EventKind.NODE: _node,
    EventKind.IMPORT: _import,
    EventKind.ALERT: _alert,
    EventKind.ALERT_OVER: _alert_over,
    EventKind.PING: _ping,
}


# Bodies


def _slack(lines: Sequence[Line]) -> dict[str, Any]:
    """Return a message for Slack. Three characters are escaped (docs.slack.dev/messaging/formatting-message-text)."""
    return {"text": "\n".join(map(_escape_line, lines))}


def _mattermost(lines: Sequence[Line]) -> dict[str, Any]:
    """Return a message for Mattermost in Markdown (developers.mattermost.com/integrate/webhooks/incoming)."""
    return {"text": "\n".join(f"- {_markdown(line)}" for line in lines)}


def _teams(lines: Sequence[Line]) -> dict[str, Any]:
    """Return an Adaptive Card, the format that webhooks of Teams workflows accept."""
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


def _escape_line(line: Line) -> str:
    text = html.escape(line.text, quote=False)
    return f"{text} <{line.url}|{html.escape(_link(), quote=False)}>" if line.url else text


def _markdown(line: Line) -> str:
    text = line.text.translate(_MARKDOWN)
    return f"{text} [{_link()}]({line.url})" if line.url else text


def _link() -> str:
    return gettext("Open in the panel")
