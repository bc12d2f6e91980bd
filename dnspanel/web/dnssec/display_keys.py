"""Prepare the timeline of a zone's keys: past events, current use, and each key's next event."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.zones.dnssec.key_history import Event, KeyHistory, Moment
from dnspanel.zones.dnssec.policy import Terms, lifetime

# At most this many events of a key are shown, because a key can be switched on and off frequently.
MOST_MOMENTS = 12
# The position of the present, on a timeline with the width 100. Next events are to the right.
_NOW_WITH_NEXT, _NOW_ALONE = 88.0, 100.0
_NARROWEST = 0.8
_LABELS: Mapping[Event, str] = {
    Event.MADE: gettext_lazy("created"),
    Event.PUBLISHED: gettext_lazy("published in DNSKEY"),
    Event.SIGNS: gettext_lazy("active"),
    Event.DS: gettext_lazy("DS on all parent servers"),
    Event.DS_GONE: gettext_lazy("DS removed from parent"),
    Event.RESTS: gettext_lazy("deactivated"),
    Event.HIDDEN: gettext_lazy("removed from DNSKEY"),
    Event.GONE: gettext_lazy("removed"),
}
_LANES: Sequence[tuple[str, Event, Event]] = (
    ("is-dnskey", Event.PUBLISHED, Event.HIDDEN),
    ("is-signs", Event.SIGNS, Event.RESTS),
    ("is-ds", Event.DS, Event.DS_GONE),
)
_LANE_HEIGHT = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """A segment of a key's lane on the timeline: its position, width and lane, and whether it is in the future."""

    css: str
    x: str
    y: int
    width: str


@dataclass(frozen=True, slots=True)
class Passed:
    """A key's past events that happened at the same time."""

    at: datetime
    label: str


@dataclass(frozen=True, slots=True)
class Coming:
    """A key's next event. `at` is its earliest time, or None if the event depends on other parties."""

    at: datetime | None
    label: str
    is_lifetime: bool = False


@dataclass(frozen=True, slots=True)
class DisplayLife:
    """One key on the timeline."""

    key: KeyHistory
    bars: list[Bar]
    now_x: str
    passed: list[Passed]
    left_out: int  # the number of earlier events
    coming: list[Coming]

    @property
    def role(self) -> str:
        return self.key.role.upper()

    @property
    def is_gone(self) -> bool:
        return self.key.use is None

    @property
    def present(self) -> str:
        """Text about the key's current use."""
        use = self.key.use
        if use is None:
            return gettext("removed, but DS still at parent") if self.key.has_ds else gettext("removed")
        words = [gettext("active") if use.active else gettext("inactive")]
        words.append(gettext("published in DNSKEY") if use.published else gettext("not published in DNSKEY"))
        return ", ".join(words + ([gettext("DS at parent")] if self.key.has_ds else []))


def display_lives(histories: Sequence[KeyHistory], terms: Terms | None) -> list[DisplayLife]:
    """Return the keys on a common timeline, in the order of `histories`.

    Events are equally spaced, so events a minute apart and events a year apart are both visible. `terms` are the terms
    of the zone's policy, which define the lifetime of keys.
    """
    moments = sorted({moment.at for each in histories for moment in each.moments})
    coming = {each.id: list(_coming(each, terms)) for each in histories}
    now_x = _NOW_WITH_NEXT if any(coming.values()) else _NOW_ALONE
    places = {at: n * now_x / len(moments) for n, at in enumerate(moments)}
    return [
        DisplayLife(
            key=each,
            bars=list(_bars(each, places, now_x)),
            now_x=_number(now_x),
            passed=list(_passed_moments(each.moments)),
            left_out=max(0, len(each.moments) - MOST_MOMENTS),
            coming=coming[each.id],
        )
        for each in histories
    ]


def next_end_of(lives: Sequence[DisplayLife]) -> tuple[datetime, int] | None:
    """Return the first end of a key's lifetime by the policy, and the key's tag, or None if no lifetime is limited."""
    ends = [(end.at, life.key.tag) for life in lives for end in life.coming if end.at and end.is_lifetime]
    return min(ends, default=None)


def _passed_moments(moments: Sequence[Moment]) -> Iterator[Passed]:
    """Yield the most recent MOST_MOMENTS events, grouped by time."""
    found: dict[datetime, list[str]] = {}
    for moment in moments[-MOST_MOMENTS:]:
        found.setdefault(moment.at, []).append(_LABELS[moment.event])
    for at, labels in found.items():
        yield Passed(at, ", ".join(map(str, labels)))


def _coming(key: KeyHistory, terms: Terms | None) -> Iterator[Coming]:
    for at, labels in _group_expected(key):
        yield Coming(at, ", ".join(map(str, labels)))
    span = lifetime(terms, key.role) if terms is not None else None
    if span is not None and key.use is not None and key.use.active and not key.expected:
        made = next(moment.at for moment in key.moments if moment.event is Event.MADE)
        yield Coming(made + span, gettext("end of key lifetime (policy)"), is_lifetime=True)


def _group_expected(key: KeyHistory) -> list[tuple[datetime | None, list[str]]]:
    found: dict[datetime | None, list[str]] = {}
    for each in key.expected:
        found.setdefault(each.earliest, []).append(_LABELS[each.event])
    return list(found.items())


def _bars(key: KeyHistory, places: Mapping[datetime, float], now_x: float) -> Iterator[Bar]:
    expected = {each.event for each in key.expected}
    for lane, (css, begin, end) in enumerate(_LANES):
        y, since = lane * _LANE_HEIGHT, None
        for moment in key.moments:
            if moment.event is begin and since is None:
                since = places[moment.at]
            elif moment.event is end and since is not None:
                yield _bar(css, since, places[moment.at], y)
                since = None
        if since is not None:
            yield _bar(css, since, now_x, y)
        goes_on = since is not None and end not in expected
        if now_x < _NOW_ALONE and key.expected and (goes_on or begin in expected):
            yield _bar(f"{css} is-next", now_x, _NOW_ALONE, y)


def _bar(css: str, begin: float, end: float, y: int) -> Bar:
    return Bar(css, _number(begin), y, _number(max(end - begin, _NARROWEST)))


def _number(value: float) -> str:
    """Format a number for an SVG attribute, independent of the page's language."""
    return f"{value:.2f}"
