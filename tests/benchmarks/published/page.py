"""The writer of the page about the published tests: the comparisons, the machine and the fastest servers.

Each test has its own page in a folder with the page's name, with its charts and configurations.
"""

import os
import platform
import re
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.benchmarks.published.charts import display_label, write_svg
from tests.benchmarks.published.recorded import Recorded
from tests.benchmarks.published.tables import table

WIDTH = 140
PACKAGES = (
    *("pdns-server", "bind9", "nsd", "knot", "mariadb-server", "postgresql", "libsqlite3-0", "dnsperf"),
    *("pdns-backend-lmdb", "pdns-backend-pgsql", "pdns-backend-mysql", "pdns-backend-sqlite3", "pdns-backend-bind"),
)
HEAD = """\
# The published tests, repeated

This page compares our node with other name servers. *Our node* is PowerDNS with LMDB files that dnspanel's agent
writes. Other people published the tests, for other servers or for an older PowerDNS. In each test, our node and its
competitors serve the same zones on the same machine and take turns.

To repeat the tests, run `./dev bench published`. With `--record`, this command writes this page, and a page for each
test with tables, charts and configurations.

Each figure is the median of several rounds. If a server shares its cores with the program that sends the queries,
compare processor time per answer, not answers per second. Processor time and memory of a server include its database.
"""
NOTHING = "\nNo results yet.\n"


def write_page(document: Path, recorded: Sequence[Recorded]) -> None:
    """Write the document and, to a folder with its name, each test's page, charts and configurations.

    The folder is emptied first.
    """
    folder = document.with_suffix("")
    folder.mkdir(exist_ok=True)
    for old in (*folder.glob("*.md"), *folder.glob("*.svg"), *folder.glob("*.txt")):
        old.unlink()
    for one in recorded:
        for chart in one.result.charts:
            write_svg(folder, chart)
        if one.result.configurations:
            (folder / _configurations_name(one)).write_text(_configurations(one))
        (folder / f"{one.part}.md").write_text("\n".join(_page_of_test(one, document.name)))
    tests = _tests(recorded, folder.name)
    document.write_text("\n".join([HEAD, *_short(recorded), *tests, *_machine()]) if recorded else HEAD + NOTHING)


def _short(recorded: Sequence[Recorded]) -> Iterator[str]:
    """Yield the summary: the results of all tests that benchmarks.md explains."""
    yield from (
        "## In short",
        "",
        "All figures except `stale` are ratios: above 1, our node is better. `stale` is the number of our node's stale",
        "answers. [Benchmarks](benchmarks.md#published) explains each figure.",
        "",
    )
    figures = {name: value for one in recorded for name, value in one.result.figures.items()}
    yield table(
        ("Figure", "Value", "Better"),
        ((f"`{name}`", "" if value is None else value, _better(name, value)) for name, value in figures.items()),
    )
    yield ""


def _better(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    if name == "stale":
        return "our node: no answer was stale" if value == 0 else "**the competitor**"
    return "our node" if value >= 1 else "**the competitor**"


def _machine() -> Iterator[str]:
    memory = psutil.virtual_memory().total / 2**30
    yield from ("## Machine and versions", "")
    yield f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, {platform.machine()}."
    yield from ("", "| Package | Version |", "|---|---|", *_versions(), "")


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else "An unnamed processor"


def _versions() -> list[str]:
    query = ["dpkg-query", "-W", "-f", "| ${Package} | ${Version} |\\n", *PACKAGES]
    return subprocess.run(query, capture_output=True, text=True).stdout.splitlines()


def _tests(recorded: Sequence[Recorded], folder: str) -> Iterator[str]:
    """Yield a link to the page of each test, with the date of its results."""
    yield from ("## The tests", "")
    for one in recorded:
        yield f"- [{one.result.title}]({folder}/{one.part}.md), measured on {one.day}"
    yield ""


def _page_of_test(one: Recorded, document: str) -> Iterator[str]:
    yield from (
        f"# {one.result.title}",
        "",
        *([*textwrap.wrap(one.result.purpose, WIDTH), ""] if one.result.purpose else []),
        f"Measured on {one.day} with `{one.command}`.",
        "",
        f"[All published tests](../{document}), with the machine and the versions of the servers",
        "",
    )
    for text in one.result.text:
        yield from (*_wrapped(text), "")
    for chart in one.result.charts:
        yield from (f"![{chart.title}]({chart.name}.svg)", "")
    if one.result.configurations:
        yield from (f"[Configurations of the servers]({_configurations_name(one)})", "")


def _configurations_name(one: Recorded) -> str:
    return f"{one.part}.txt"


def _configurations(one: Recorded) -> str:
    """Return the configurations of a test's servers, each under the server's name."""
    return "\n".join(
        "\n".join((f"=== {display_label(name)} ===", "", *_lines(configuration), ""))
        for name, configuration in one.result.configurations.items()
    )


def _wrapped(text: str) -> list[str]:
    """Wrap the text to the line length of documents, except lines of tables and lists."""
    return [
        line
        for paragraph in text.splitlines()
        for line in ([paragraph] if paragraph.startswith("|") else textwrap.wrap(paragraph, WIDTH) or [""])
    ]


def _lines(configuration: str) -> list[str]:
    """Return the lines of a configuration, with placeholders for folders and passwords, which differ in each run."""
    public = re.sub(r"(/[\w.~-]+)*/(dp-\w+|mariadb-\w+|bench)(?=[/\"\s;]|$)", "/srv/bench", configuration)
    public = re.sub(r"(password|api-key)=.*", r"\1=(made for the run)", public)
    return [
        line for long in public.splitlines() for line in textwrap.wrap(long, WIDTH, replace_whitespace=False) or [""]
    ]
