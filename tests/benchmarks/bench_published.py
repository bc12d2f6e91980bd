"""The published performance tests that motivated this project, repeated: dnspanel and its rivals on the same zones.

    ./dev bench published                       all of them, at the published sizes
    ./dev bench published backends stale        these
    ./dev bench published --record              with the page docs/develop/published.md and its charts

Each part is a module of `tests/benchmarks/published/`. The result of a part is stored in `var/`. --record makes the
page from the last results of all parts. `--record none` measures nothing. Ratios above 1 mean that dnspanel is better.
"""

import argparse
import contextlib
import importlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.published import page, recorded
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Result
from tests.benchmarks.say import say

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "var" / "bench" / "published"
RESULTS = ROOT / "var" / "bench" / "published-results"
DOCUMENT = ROOT / "docs" / "develop" / "published.md"
# Modules of tests.benchmarks.published, each with a function `run(options) -> Result`.
PARTS = ("backends", "estate", "random_names", "many_clients", "stale", "propagation")
SIZES = ("zones", "small_zones", "backend_zones", "rounds", "questions", "updates", "edits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = [*PARTS, "all", "none"]
    parser.add_argument("parts", nargs="*", metavar="PART", choices=words, default="all", help=", ".join(words))
    defaults = Options(PLACE)
    for name in SIZES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name))
    parser.add_argument("--seconds", type=float, default=defaults.seconds)
    parser.add_argument(
        "--lightning-stream",
        type=Path,
        metavar="PROGRAM",
        default=shutil.which("lightningstream"),
        help="path of `lightningstream` if it is not on PATH; not measured if missing",
    )
    parser.add_argument("--record", action="store_true", help=f"write {DOCUMENT.relative_to(ROOT)}")
    args = parser.parse_args()
    sizes = {name: getattr(args, name) for name in SIZES}
    options = Options(PLACE, seconds=args.seconds, lightning_stream=args.lightning_stream, **sizes)
    figures: dict[str, float | None] = {}
    for part in PARTS if "all" in args.parts else [part for part in args.parts if part in PARTS]:
        result = run(part, options)
        recorded.keep(RESULTS, part, options, result)
        figures |= result.figures
    if args.record:
        page.write_page(DOCUMENT, recorded.kept(RESULTS, PARTS))
    say(json.dumps({"bench": "published", **figures}))


def run(part: str, options: Options) -> Result:
    """Measure one part in its directory, and print its section of the page."""
    module = importlib.import_module(f"tests.benchmarks.published.{part}")
    with _empty(options.directory):
        result: Result = module.run(options)
    say(f"\n{result.title}\n")
    for text in result.text:
        say(f"{text}\n")
    return result


@contextlib.contextmanager
def _empty(directory: Path) -> Iterator[None]:
    """Make an empty directory, and remove it after the block."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
