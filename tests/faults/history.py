"""The edits, the observed answers, and the check that the log explains all answers. Pure; `checker` collects them.

The log has the value of each RRset at each sequence. An answer fits the sequences at which all its values were in the
log. The assertions follow from this, with the letters of the fault table:

(a) each acknowledged edit is in the log, and all nodes finally answer with the last value of each RRset; (b) an answer
that fits no sequence was never written; (c) for each node and RRset, answers never fit only sequences before the one
that earlier answers have shown,
    and the position zone never counts back inside an epoch;
(d) the values of several RRsets in one answer fit a common sequence, so no half of a publication is visible; (e) an
answer that fits only sequences before a deletion that the node has confirmed is stale; (g) no SERVFAIL and no REFUSED
for an existing zone; (h) an answer to a query that was sent after the panel displayed the node at a sequence fits that
or a later one. (f), the equality of all digests, is `manage.py audit`.
"""

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

END = 1 << 62

# An RRset: owner name and type. The type "" is the existence of the zone.
Key = tuple[str, str]
Value = str | None
Ranges = list[tuple[int, int]]

PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit as its author saw it. Without a sequence, the outcome is unknown."""

    number: int
    values: Mapping[Key, Value]
    begun: float
    ended: float
    sequence: int | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A node's answer. `floor` is the node's position in the panel before the query was sent."""

    node: str
    sent: float
    values: Mapping[Key, Value]
    floor: int = 0
    rcode: str = "NOERROR"
    position: tuple[str, int] | None = None  # in an answer of the position zone: epoch and sequence
    answered: float = math.inf


@dataclass(slots=True)
class Log:
    """The value of each key at each sequence, built from the publications in order.

    `begun` has the start time of each sequence's edit. No node can answer with the sequence before that time.
    """

    begun: dict[int, float] = field(default_factory=dict)
    _steps: dict[Key, list[tuple[int, Value]]] = field(default_factory=lambda: defaultdict(list))
    _keys_of_zone: dict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))

    def create(self, sequence: int, zone: str) -> None:
        self._note(sequence, (zone, ""), PRESENT)

    def delete(self, sequence: int, zone: str) -> None:
        """Record the deletion of the zone and all its RRsets."""
        for key in self._keys_of_zone[zone]:
            if self._steps[key][-1][1] is not None:
                self._note(sequence, key, None)
        self._note(sequence, (zone, ""), None)

    def change(self, sequence: int, zone: str, key: Key, value: Value) -> None:
        self._keys_of_zone[zone].add(key)
        self._note(sequence, key, value)

    def at(self, key: Key, sequence: int) -> Value:
        """Return the key's value at this sequence."""
        steps = self._steps.get(key, [])
        index = bisect.bisect_right(steps, sequence, key=lambda step: step[0])
        return steps[index - 1][1] if index else None

    def keys(self) -> list[Key]:
        return sorted(self._steps)

    def ranges(self, key: Key, value: Value) -> Ranges:
        """Return the half-open ranges of sequences at which the key had this value."""
        found: Ranges = []
        steps = [(0, None), *self._steps.get(key, [])]
        ends = [sequence for sequence, _ in steps[1:]] + [END]
        for (start, logged), end in zip(steps, ends, strict=True):
            if logged == value and start < end:
                found.append((start, end))
        return found

    def fitting(self, values: Mapping[Key, Value], *, answered: float = math.inf) -> Ranges:
        """Return the ranges of sequences at which all values were in the log, for edits begun before `answered`."""
        found: Ranges = [(0, END)]
        for key, value in values.items():
            found = _intersection(found, self.ranges(key, value))
        return [(start, end) for start, end in found if self.begun.get(start, -math.inf) <= answered]

    def _note(self, sequence: int, key: Key, value: Value) -> None:
        steps = self._steps[key]
        if steps and steps[-1][0] == sequence:
            steps[-1] = (sequence, value)
        else:
            steps.append((sequence, value))


def _intersection(one: Ranges, other: Ranges) -> Ranges:
    """Return the intersection of two sorted lists of ranges, also sorted. Takes linear time for long histories."""
    found: Ranges = []
    i = j = 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def lost_edits(log: Log, edits: Iterable[Edit]) -> Iterator[str]:
    """Yield violations of assertion (a): acknowledged edits that the log does not have at their sequence."""
    for edit in edits:
        if edit.sequence is None:
            continue
        for key, value in edit.values.items():
            if (logged := log.at(key, edit.sequence)) != value:
                yield f"(a) edit {edit.number} of {_spoken(key)} was acknowledged as {value}, the log holds {logged}"


def wrong_in_the_end(log: Log, head: int, answers: Iterable[Seen]) -> Iterator[str]:
    """Yield violations of assertion (a): final answers that differ from the log's head."""
    for seen in answers:
        if seen.rcode == "SERVFAIL":
            yield f"(g) {seen.node} answered SERVFAIL for {', '.join(map(_spoken, seen.values))} in the end"
            continue
        for key, value in seen.values.items():
            if (logged := log.at(key, head)) != value:
                yield f"(a) {seen.node} answers {value} for {_spoken(key)} in the end, the log holds {logged}"


def broken(log: Log, seen: Sequence[Seen]) -> Iterator[str]:
    """Yield violations of the assertions (b), (c), (d), (e), (g) and (h) in the answers, which are in order of time."""
    observed: dict[tuple[str, Key], int] = defaultdict(int)
    counted: dict[tuple[str, str], int] = {}
    for answer in seen:
        if answer.rcode == "SERVFAIL":
            yield f"(g) {answer.node} answered SERVFAIL for {', '.join(map(_spoken, answer.values)) or 'the position'}"
        elif answer.position is not None:
            yield from _broken_position(answer, answer.position, counted)
        elif answer.values:
            yield from _broken_answer(log, answer, observed)


def _broken_position(answer: Seen, position: tuple[str, int], counted: dict[tuple[str, str], int]) -> Iterator[str]:
    epoch, sequence = position
    before = counted.get((answer.node, epoch), 0)
    if sequence < before:
        yield f"(c) {answer.node} answered position {sequence} after {before}"
    if sequence < answer.floor:
        yield f"(h) {answer.node} answers position {sequence} after the panel showed it at {answer.floor}"
    counted[(answer.node, epoch)] = max(before, sequence)


def _broken_answer(log: Log, answer: Seen, observed: dict[tuple[str, Key], int]) -> Iterator[str]:
    told = ", ".join(f"{_spoken(key)} = {value}" for key, value in answer.values.items())
    for key, value in answer.values.items():
        if not log.ranges(key, value):
            letter = "g" if key[1] == "" else "b"
            yield f"({letter}) {answer.node} answered {told}, and {_spoken(key)} never was so"
            return
    fitting = log.fitting(answer.values, answered=answer.answered)
    if not fitting:
        yield f"(d) {answer.node} answered {told}: at no sequence were all of these so"
        return
    # RRset by RRset, because caches may have old answers for some names between a commit and the purge.
    rrsets = [key for key in answer.values if key[1]]
    lowest = max((observed[(answer.node, key)] for key in rrsets), default=0)
    later = [(start, end) for start, end in fitting if end > lowest]
    if not later:
        yield f"(c) {answer.node} answered {told}, older than what it answered before (sequence {lowest})"
        return
    if not any(end > answer.floor for _, end in later):
        letter = _letter_of_late(log, answer)
        yield f"({letter}) {answer.node} answered {told} after the panel showed it at {answer.floor}"
        return
    for key in rrsets:
        observed[(answer.node, key)] = max(lowest, later[0][0])


def _letter_of_late(log: Log, answer: Seen) -> str:
    """Return the letter of the promise that an answer breaks if it is older than the node's confirmed state."""
    for key, value in answer.values.items():
        now = log.at(key, answer.floor)
        if key[1] == "" and now == PRESENT and value is None:
            return "g"
        if now is None and value is not None:
            return "e"
    return "h"


def _spoken(key: Key) -> str:
    return f"{key[0]} {key[1]}" if key[1] else f"the zone {key[0]}"
