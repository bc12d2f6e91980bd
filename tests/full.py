"""The tests that a run without `--full` leaves out: those marked `full`, most marked `sample`, and resting files.

A resting file runs on other days. The sample changes each day. The header of the run shows its seed, and
`--sample-seed` repeats it.
"""

import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.handed_files import HandedFile, hands_out_files
from tests.lanes import OWN_STACK

T = TypeVar("T")


# Files with one of these words in the name concern access, or the content of nodes, so they run every day.
NEVER_RESTS = frozenset(
    [
        *("access", "agent", "audit", "certificate", "certificates", "gateway", "grants", "guard", "guards", "key"),
        *("keyless", "keys", "locks", "permissions", "publish", "right", "rights", "roles", "secret", "sign"),
        *("signed", "signings", "store", "tls", "tokens"),
    ]
)
# Tests of code that only one feature uses, as folders. A quarter of their other files run each day.
FEATURES: dict[str, Sequence[str]] = {
    "alerts": ("dnspanel/alerts", "dnspanel/web/alerts"),
    "backups": ("dnspanel/backup",),
    "catalogs": ("dnspanel/catalogs",),
    "changes of many zones": ("dnspanel/zones/runs",),
    "command line": ("dnspanel/cli",),
    "dashboards and metrics": ("dnspanel/monitoring", "dnspanel/web/dashboard"),
    "exports and cut-overs": (
        "dnspanel/transfer/cutover", "dnspanel/transfer/exports", "dnspanel/transfer/vanity", "dnspanel/web/exports",
    ),
    "files that are installed": ("deploy",),
    "imports": (
        "dnspanel/transfer/archives", "dnspanel/transfer/files", "dnspanel/transfer/imports", "dnspanel/web/imports",
    ),
    "keys and rollovers": ("dnspanel/fleet/dnssec", "dnspanel/zones/dnssec"),
    "lines, reviews and histories in the editor": (
        "dnspanel/web/editor/history", "dnspanel/web/editor/lines", "dnspanel/web/editor/review",
        "dnspanel/web/editor/rows",
    ),
    "lists and orders of zones and their complaints": (
        "dnspanel/zones/complaints", "dnspanel/zones/lists", "dnspanel/zones/order",
    ),
    "pages of nodes, of signing and of settings": (
        "dnspanel/web/dnssec", "dnspanel/web/fleet", "dnspanel/web/settings",
    ),
    "pages of zones": ("dnspanel/web/zone_tabs", "dnspanel/web/zones"),
    "primaries and secondaries": ("dnspanel/primaries", "dnspanel/secondaries"),
    "resources of API v2": ("dnspanel/api/v2/resources",),
    "searches, typed values and builders": (
        "dnspanel/web/editor/typed", "dnspanel/zones/builders", "dnspanel/zones/search", "dnspanel/zones/typed",
    ),
    "sources of imports": ("dnspanel/transfer/sources",),
    "webhooks": ("dnspanel/webhooks",),
    "zone files": ("dnspanel/transfer/zonefile",),
    "zone templates": ("dnspanel/transfer/zone_templates", "dnspanel/web/zone_templates"),
}  # fmt: skip


def _files(folder: str) -> list[str]:
    tests = Path(__file__).parent
    return sorted(str(path.relative_to(tests.parent)) for path in (tests / folder).rglob("test_*.py"))


def _that_rest(folders: Sequence[str]) -> list[str]:
    files = [path for folder in folders for path in _files(folder)]
    return [path for path in files if NEVER_RESTS.isdisjoint(Path(path).stem.split("_"))]


# The number of these files that run each day, one after another.
TURNS: dict[str, tuple[int, Sequence[str]]] = {
    "flows with a stack of their own, and other people's clients": (1, [*OWN_STACK, *_files("clients")]),
    "flows with the stack that all share": (3, [path for path in _files("flow") if path not in OWN_STACK]),
    "comparisons with other people's programs": (2, _files("oracle")),
    "the long ways of a real agent": (
        1,
        [
            path
            for path in _files("replication/agent")
            if path.endswith(("/test_integrity_scan.py", "/test_rebuild_node.py", "/test_stale.py"))
        ],
    ),
    "pages in Chromium, fronts, demos and schemathesis": (
        2,
        [
            *(
                f"tests/dnspanel/web/{name}.py"
                for name in (
                    *("account/test_passkeys", "editor/test_builder_pages", "editor/test_drafts_in_two_browsers"),
                    *("editor/test_drawer", "editor/test_leaving", "editor/test_typed_panel"),
                )
            ),
            *(
                f"tests/replication/front/test_{name}.py"
                for name in ("agent", "faults", "front", "quic", "releases", "xdp")
            ),
            *(f"tests/dnspanel/demo/test_{name}.py" for name in ("fleet", "stack", "stores", "supervision")),
            *(f"tests/dnspanel/api/test_schemathesis_v{number}.py" for number in (1, 2)),
        ],
    ),
    **{name: (math.ceil(len(_that_rest(folders)) / 4), _that_rest(folders)) for name, folders in FEATURES.items()},
}
_left_out: Counter[str] = Counter()
_resting_files: Counter[str] = Counter()
_is_full = False


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dnspanel")
    group.addoption("--full", action="store_true", help="run all tests completely, without sampling")
    group.addoption("--sample-seed", type=int, default=None, help="the seed of the samples of a run without --full")


def pytest_configure(config: pytest.Config) -> None:
    global _is_full
    _is_full = config.option.full
    config.addinivalue_line("markers", "full(reason): run only with --full")
    config.addinivalue_line(
        "markers",
        "sample(count, reason, by=''): so many of the test's parameters; with `by`, all tests whose parameter of this "
        "name has one of so many values; all with --full",
    )
    config.addinivalue_line("markers", "turn(days, reason): on one of so many days; on each with --full")
    # Before pytest-xdist passes the options to its processes.
    if config.option.sample_seed is None:
        config.option.sample_seed = datetime.now(UTC).toordinal()
    if "names_no_path" not in config.option:
        config.option.names_no_path = config.args_source is pytest.Config.ArgsSource.TESTPATHS


def pytest_report_header(config: pytest.Config) -> str:
    if config.option.full:
        return f"full run without samples; --sample-seed={config.option.sample_seed} repeats the random moments"
    return f"samples: --sample-seed={config.option.sample_seed} repeats the samples of this run; --full runs everything"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.full:
        return
    left_out = {item: str(mark.kwargs["reason"]) for item in items for mark in item.iter_markers("full")}
    left_out |= _not_today(items, config)
    for (_, count, reason), groups in _sampled(items).items():
        kept = {*choose([*groups], count, seed=config.option.sample_seed)}
        left_out |= {item: reason for value in groups.keys() - kept for item in groups[value]}
    for item, reason in left_out.items():
        (_resting_files if isinstance(item, HandedFile) else _left_out)[reason] += 1
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _not_today(items: Sequence[pytest.Item], config: pytest.Config) -> dict[pytest.Item, str]:
    """Return the items that do not run today, each with a description. An item also rests if its file rests."""
    if not config.option.names_no_path:
        return {}
    seed = config.option.sample_seed
    resting = _resting(seed)
    paths = {item: item.nodeid.partition("::")[0] for item in items}
    of_files = {item: resting[path] for item, path in paths.items() if path in resting}
    marked = {
        item: str(mark.kwargs["reason"])
        for item in items
        for mark in item.iter_markers("turn")
        if not _has_turn(item.nodeid, mark.args[0], seed=seed)
    }
    return marked | of_files


def _has_turn(name: str, days: int, *, seed: int) -> bool:
    """Return True on one of every `days` days. The test's name decides on which one."""
    return (zlib.crc32(name.encode()) + seed) % days == 0


@cache
def _resting(seed: int) -> dict[str, str]:
    """Return the files that do not run today, each with the name of its group in TURNS."""
    return {
        path: name for name, (count, paths) in TURNS.items() for path in {*paths} - {*take_turn(paths, count, day=seed)}
    }


def _sampled(items: Sequence[pytest.Item]) -> dict[tuple[str, int, str], dict[str, list[pytest.Item]]]:
    """Return the items of each sample, grouped by the unit to choose. The order does not depend on pytest-randomly.

    A sample is one test with items as units or, with `by`, the tests of a file with values of this parameter as units.
    """
    found: dict[tuple[str, int, str], dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted(items, key=lambda item: item.nodeid):
        mark = item.get_closest_marker("sample")
        if mark is None:
            continue
        by, values = mark.kwargs.get("by", ""), getattr(item, "callspec", None)
        if not by:
            found[item.nodeid.partition("[")[0], mark.args[0], mark.kwargs["reason"]][item.nodeid].append(item)
        elif values is not None and by in values.params:
            key = (item.nodeid.partition("::")[0], mark.args[0], mark.kwargs["reason"])
            found[key][str(values.params[by])].append(item)
    return found


def take_turn(paths: Sequence[str], count: int, *, day: int) -> list[str]:
    """Return `count` of the paths, the next ones each day, so that none rests longer than the others."""
    mixed = sorted(paths, key=lambda path: zlib.crc32(path.encode()))  # neighbours often cost the same
    return [mixed[(day * count + index) % len(mixed)] for index in range(min(count, len(mixed)))]


def choose(items: Sequence[T], count: int, *, seed: int) -> list[T]:
    """Choose `count` of the items at random, in their original order. Return all if there are not more than `count`."""
    if len(items) <= count:
        return list(items)
    chosen = sorted(random.Random(seed).sample(range(len(items)), count))
    return [items[index] for index in chosen]


@dataclass(frozen=True, slots=True)
class Sample:
    """The extent of a test that samples by itself."""

    full: bool
    seed: int

    def some(self, items: Sequence[T], count: int, *, reason: str) -> list[T]:
        """Return `count` of the items, chosen at random, or all items in a full run."""
        if self.full or len(items) <= count:
            return list(items)
        _left_out[reason] += len(items) - count
        return choose(items, count, seed=self.seed)

    def turn(self, items: Sequence[T], count: int, *, reason: str) -> list[T]:
        """Return about `count` of the items, different ones each day, in turn. Return all in a full run."""
        days = math.ceil(len(items) / count)
        if self.full or days <= 1:
            return list(items)
        taken = list(items[self.seed % days :: days])
        _left_out[reason] += len(items) - len(taken)
        return taken

    def few(self, count: int, full: int, *, reason: str) -> int:
        """Return `count`, or `full` in a full run."""
        if self.full:
            return full
        _left_out[reason] += full - count
        return count


def examples(count: int, full: int) -> int:
    """Return the number of hypothesis examples: `count`, or `full` in a full run. For decorators, before fixtures."""
    if _is_full:
        return full
    _left_out["examples that hypothesis makes"] += full - count
    return count


def is_full() -> bool:
    """Return True in a full run."""
    return _is_full


def sample_of(config: pytest.Config) -> Sample:
    return Sample(full=config.option.full, seed=config.option.sample_seed)


@pytest.fixture(scope="session")
def sample(pytestconfig: pytest.Config) -> Sample:
    return sample_of(pytestconfig)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the numbers of left-out tests from a pytest-xdist process to the reporting process."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(_left_out)
        output["resting_files"] = dict(_resting_files)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", None) or {}
    # All processes know the same files, but each file is collected by only one of them.
    _resting_files.update(Counter(output.get("resting_files", {})) - _resting_files)
    counted = Counter(output.get("left_out", {}))
    # Otherwise all processes collect the same tests, and only one process knows what a test left out itself.
    _left_out.update(counted if hands_out_files(node.config) else counted - _left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _left_out or _resting_files:
        terminalreporter.section("only with --full")
        for reason, count in sorted(_left_out.items()):
            terminalreporter.line(f"{count:>5} more: {reason}")
        for reason, count in sorted(_resting_files.items()):
            terminalreporter.line(f"{count:>5} more files: {reason}")
