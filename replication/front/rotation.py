"""Choose the backends that are allowed to answer, based on the positions that they prove over DNS. Pure.

A node's position zone contains the position of everything that it serves. This shows late nodes without the panel: they
are behind the newest position of all backends. If the panel is down, the rotation still works.

- A backend that lacks more than `most_behind` changes for longer than `behind_seconds` leaves. The time starts when the
  first excess change is seen at another backend. A backend that follows a stream of changes is therefore never late,
  however fast the stream is.
- A backend that lacks more than `most_behind` changes leaves at once if it lacks changes that the front has reported to
  the panel (`Known.floor`).
- A backend leaves at once if the panel takes it out. While others answer, a silent backend that fails dnsdist's own
  check also leaves at once.
- A backend with another history of the log than most leaves after `behind_seconds`.
- A silent backend that passes dnsdist's own check is judged by its last position.
- A backend returns when its position is good enough.
- If fewer than `minimum` of the answering backends would be left, the least late of them stay.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from replication.message_texts import gettext, ngettext
from replication.wire.position import Position

# The number of stored steps of the newest position. With four checks a second this is 17 minutes.
_MOST_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits beyond which a backend leaves the rotation."""

    minimum: int
    most_behind: int
    behind_seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about one backend. `reason` is a sentence about the node."""

    position: Position | None
    behind: int  # the number of missing changes; 0 if unknown
    reason: str
    is_in: bool

    def is_older(self, floor: Position | None) -> bool:
        """Return True if the backend is in rotation but behind `floor`, so that clients can get older answers."""
        if floor is None or self.position is None or self.position.epoch != floor.epoch:
            return False
        return self.is_in and self.position < floor


@dataclass(frozen=True, slots=True)
class Known:
    """Information about the backends other than their positions."""

    floor: Position | None = None  # a late backend that lacks this is taken out at once
    out: Mapping[str, str] = field(default_factory=dict)  # by name, the panel's reason to take it out
    down: frozenset[str] = frozenset()  # backends that don't answer dnsdist's own check


NOTHING_KNOWN = Known()


class Rotation:
    """The rotation of a front's backends, updated each time their positions are read. Times are monotonic."""

    def __init__(self, names: Sequence[str], rules: Rules) -> None:
        self._names, self._rules = names, rules
        self._known: dict[str, Position] = {}
        self._epoch: UUID | None = None
        self._strange_since: dict[str, float] = {}
        # The steps of this epoch's newest position: ascending sequences, and the time when each was first seen.
        self._sequences: list[int] = []
        self._seen_at: list[float] = []

    def see(
        self, positions: Mapping[str, Position | None], now: float, known: Known = NOTHING_KNOWN
    ) -> dict[str, Verdict]:
        """Return a verdict for each backend. `positions` maps a backend that didn't answer to None."""
        answered = {name: found for name, found in positions.items() if found is not None}
        self._known.update(answered)
        self._follow(list(answered.values()), now)
        verdicts = {name: self._judge(name, now, known) for name in self._names}
        left = sum(verdicts[name].is_in for name in answered)
        late = [name for name in answered if not verdicts[name].is_in]
        late.sort(key=lambda name: (name in known.out, answered[name].epoch != self._epoch, verdicts[name].behind))
        for name in late[: max(0, self._rules.minimum - left)]:
            found = verdicts[name]
            reason = gettext(
                "{reason} The node stays in rotation because at least {minimum} nodes must remain."
            ).format(reason=found.reason, minimum=self._rules.minimum)
            verdicts[name] = replace(found, is_in=True, reason=reason)
        if any(verdicts[name].is_in for name in answered):
            for name in known.down - answered.keys():
                if name in verdicts:
                    verdicts[name] = replace(verdicts[name], is_in=False, reason=gettext("The node isn’t responding."))
        return verdicts

    def _follow(self, positions: Sequence[Position], now: float) -> None:
        """Update the most common epoch among these positions, and its newest position."""
        votes = Counter(position.epoch for position in positions)
        if not votes:
            return
        most = max(votes.values())
        if self._epoch is None or votes[self._epoch] < most:
            self._epoch = next(epoch for epoch, count in votes.items() if count == most)
            self._sequences, self._seen_at = [], []
        newest = max(position.sequence for position in positions if position.epoch == self._epoch)
        if not self._sequences or newest > self._sequences[-1]:
            self._sequences.append(newest)
            self._seen_at.append(now)
            if len(self._sequences) > _MOST_STEPS:
                del self._sequences[: _MOST_STEPS // 2], self._seen_at[: _MOST_STEPS // 2]

    def _judge(self, name: str, now: float, known: Known) -> Verdict:
        position = self._known.get(name)
        if reason := known.out.get(name):
            return Verdict(position, 0, reason, is_in=False)
        if position is None:
            return Verdict(
                None, 0, gettext("The node hasn’t responded yet, so dnsdist’s health check decides."), is_in=True
            )
        if position.epoch != self._epoch:
            since = self._strange_since.setdefault(name, now)
            is_in = now - since < self._rules.behind_seconds
            return Verdict(position, 0, gettext("The node’s log history differs from that of most nodes."), is_in=is_in)
        self._strange_since.pop(name, None)
        behind = max(0, self._sequences[-1] - position.sequence)
        lacking = bisect_right(self._sequences, position.sequence + self._rules.most_behind)
        if lacking == len(self._sequences):
            lacks = ngettext(
                "The node is {count} change behind.", "The node is {count} changes behind.", behind
            ).format(count=behind)
            return Verdict(position, behind, lacks if behind else gettext("The node is up to date."), is_in=True)
        seconds = now - self._seen_at[lacking]
        floor = known.floor
        if floor is not None and floor.epoch == position.epoch and position.sequence < floor.sequence:
            answered = ngettext(
                "The node is missing {count} change that the front already serves.",
                "The node is missing {count} changes that the front already serves.",
                behind,
            )
            return Verdict(position, behind, answered.format(count=behind), is_in=False)
        reason = ngettext(
            "The node has been {count} change behind for {seconds:.1f} s.",
            "The node has been {count} changes behind for {seconds:.1f} s.",
            behind,
        )
        is_in = seconds < self._rules.behind_seconds
        return Verdict(position, behind, reason.format(count=behind, seconds=seconds), is_in=is_in)
