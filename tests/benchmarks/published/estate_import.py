"""The import of the estate into the panel, until all nodes answer. A node's files are kept for later."""

import time
from dataclasses import dataclass
from pathlib import Path

import lmdb
import psutil

from tests import zonegen
from tests.benchmarks import bench_import, stacks
from tests.benchmarks.serving import cpu_seconds

IDLE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Imported:
    """The seconds until all nodes answered, an agent's memory (MiB) then, and its share of a core when idle."""

    seconds: float
    agent_mb: float
    agent_core: float


def import_estate(directory: Path, *, zones: int, records: int) -> Imported:
    """Import the estate into a separate stack. Afterwards, only a copy of a node's LMDB remains in the directory."""
    archive = directory / "estate.tar.gz"
    last = zonegen.write_archive(archive, zones, records)
    with stacks.bench_stack("published-estate") as stack:
        seconds = bench_import.run_import(stack, bench_import.uploaded(archive), zones=zones, last=last).answered
        stack.wait_until_in_sync(timeout=bench_import.STALLS_AFTER)
        (agent_mb, *_), agent_core = stack.agent_rss_mb(), _idle_agent(stack)
        copy_lmdb(stack.stack.nodes[0].lmdb, directory)
    archive.unlink()
    return Imported(seconds, agent_mb, agent_core)


def copy_lmdb(main: Path, directory: Path) -> None:
    """Copy both LMDB files of a node under their own names. No process may write to them during the copy."""
    for path in (main, main.with_name(f"{main.name}-0")):
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False, max_dbs=16) as files:
            files.copy(str(directory / path.name))


def _idle_agent(stack: stacks.BenchStack) -> float:
    agent = psutil.Process(stack.stack.supervisor.pid(f"{stack.stack.node_names[0]}-agent"))
    before = cpu_seconds(agent)
    # The cost of an idle agent. It reads PowerDNS's statistics once a second, so one second is too short to measure.
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(agent) - before) / IDLE_SECONDS
