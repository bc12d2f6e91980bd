"""The timeline of an edit: the end of each step, in milliseconds after the start of `publish()`, from logs.

All processes of a stack log milliseconds of the same clock. Some log lines are written after two steps and contain both
durations. The ends of the steps are computed from these.
"""

import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.benchmarks import answers, estate

_AT = r"^\[?(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})"
_ENCODED = re.compile(_AT + r".* encoded schema=\d+ from=\d+ to=(?P<to>\d+) bytes=\d+ ms=(?P<ms>[\d.]+)")
_APPLIED = re.compile(
    _AT + r".* applied from=\d+ to=(?P<to>\d+) .*apply_ms=(?P<apply>[\d.]+) lock_ms=[\d.]+ verify_ms=(?P<verify>[\d.]+)"
)
_PUSHED = re.compile(_AT + r".* pushed node=(?P<node>\S+) .*to=(?P<to>\d+) acked=\d+ ")

RING0 = "ring0"


@dataclass(frozen=True, slots=True)
class Edit:
    """The times of an edit that the benchmark itself measured (Unix times)."""

    sequence: int
    began: float
    committed: float
    answered: float

    @property
    def milliseconds(self) -> float:
        return (self.answered - self.began) * 1000


def publish(nodes: Sequence[answers.Address], *, zone_id: int, name: str, address: str, **wait: float) -> Edit:
    """Publish one A RRset and wait until every node returns it. Raise TimeoutError if a node does not.

    `wait` has arguments for `answers.wait_for`.
    """
    start, began = time.monotonic(), time.time()
    sequence = estate.publish_address(zone_id=zone_id, name=name, address=address)
    committed = time.time()
    answered = answers.wait_for(nodes, name, address, **wait)
    return Edit(sequence, began, committed, began + max(answered) - start)


@dataclass(frozen=True, slots=True)
class Step:
    """A step and its end, as the median over all edits in milliseconds."""

    name: str
    ms: float


def time_line(edits: Iterable[Edit], logs: Path) -> list[Step]:
    """Return the steps of an edit in their usual order. Steps that are in no log are left out."""
    times: dict[str, list[float]] = defaultdict(list)
    logged = _logged(logs)
    for edit in edits:
        steps = {
            "committed": edit.committed,
            **_over_nodes(logged.get(edit.sequence, {})),
            "the last node answers": edit.answered,
        }
        for name, at in steps.items():
            times[name].append((at - edit.began) * 1000)
    steps = [Step(name, statistics.median(found)) for name, found in times.items()]
    return sorted(steps, key=lambda step: step.ms)


def _over_nodes(found: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return the Unix times of the steps of one sequence. For several nodes, include the first and the last."""
    by_step: dict[str, list[float]] = defaultdict(list)
    steps = {}
    for (step, node), at in found.items():
        if node in ("", RING0):
            steps[f"ring 0 {step}" if node else step] = at
        else:
            by_step[step].append(at)
    for step, times in by_step.items():
        steps |= {f"the first node {step}": min(times), f"the last node {step}": max(times)}
    return steps


def _logged(logs: Path) -> dict[int, dict[tuple[str, str], float]]:
    """Return Unix times by step and node, for each sequence."""
    found: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for match in _matches(_ENCODED, logs / "publish.log"):
        found[int(match["to"])]["compiled", ""] = _at(match) - float(match["ms"]) / 1000
    for path in logs.glob("*-agent.log"):
        node = path.name.removesuffix("-agent.log")
        for match in _matches(_APPLIED, path):
            at, verify, apply = _at(match), float(match["verify"]) / 1000, float(match["apply"]) / 1000
            steps = {"has received it": at - verify - apply, "has written it": at - verify, "has proved it": at}
            found[int(match["to"])] |= {(step, node): when for step, when in steps.items()}
    for match in _matches(_PUSHED, logs / "push.log"):
        found[int(match["to"])]["is in sync, as the panel has recorded", match["node"]] = _at(match)
    return found


def _matches(pattern: re.Pattern[str], path: Path) -> Iterator[re.Match[str]]:
    with path.open(errors="replace") as file:
        yield from filter(None, map(pattern.match, file))


def _at(match: re.Match[str]) -> float:
    return datetime.fromisoformat(match["at"].replace(",", ".")).astimezone().timestamp()  # logs have local times
