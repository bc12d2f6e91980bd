"""The last results of the published tests, stored between runs, because the page shows all of them."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Bar, Chart, Result


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of one test, with the test's name, its date, and the command that repeats it."""

    part: str
    day: str
    command: str
    result: Result


def keep(directory: Path, part: str, options: Options, result: Result) -> None:
    """Store this test's result, replacing its earlier one."""
    directory.mkdir(parents=True, exist_ok=True)
    day = datetime.now(UTC).date().isoformat()
    text = json.dumps({"day": day, "command": options.command(part), "result": asdict(result)}, indent=1)
    (directory / f"{part}.json").write_text(text + "\n")


def kept(directory: Path, parts: Iterable[str]) -> list[Recorded]:
    """Return the stored results of these tests, in this order, without tests that never ran."""
    files = [directory / f"{part}.json" for part in parts]
    return [_recorded(file.stem, json.loads(file.read_text())) for file in files if file.exists()]


def _recorded(part: str, found: dict[str, object]) -> Recorded:
    result = Result(**found["result"])  # type: ignore[arg-type]
    result.charts = [_chart(dict(chart)) for chart in result.charts]  # type: ignore[call-overload]
    return Recorded(part, str(found["day"]), str(found.get("command", f"./dev bench published {part}")), result)


def _chart(found: dict[str, object]) -> Chart:
    bars = tuple(Bar(**bar) for bar in found.pop("bars"))  # type: ignore[attr-defined]
    return Chart(bars=bars, **found)  # type: ignore[arg-type]
