"""An import's workers are killed at random moments. Nothing is lost or done twice.

A full run kills them ten times during an import of 12,000 zones.
"""

import contextlib
import io
import random
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from replication.dns.rdtypes import type_to_text
from tests import zonegen
from tests.full import Sample
from tests.stack import new_stack, run_inside, wait_until_in_sync
from tests.workers import FOLDER

pytestmark = pytest.mark.faults

RECORDS_OF_A_ZONE = 10.6


def write_archive(path: Path, *, zones: int, records: int) -> None:
    """Write a tar.gz of zone files with generated zones from a fixed seed."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, rrsets in zonegen.estate(zones, records):
            lines = [f"{r.name} {r.ttl} IN {type_to_text(r.type)} {text}\n" for r in rrsets for text in r.rdata]
            content = "".join(lines).encode()
            entry = tarfile.TarInfo(f"zones/{name}zone")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


class Import:
    """A process that runs `manage.py import` on an archive."""

    def __init__(self, stack: Stack, archive: Path) -> None:
        self.log = archive.with_suffix(".log")
        command = [sys.executable, "manage.py", "import", str(archive), "--yes"]
        self._out = self.log.open("wb")
        self.process = subprocess.Popen(
            [*unprivileged.prefix(), *command],
            env=stack.env,
            cwd=unprivileged.CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )

    def wait(self, *, seconds: float) -> None:
        try:
            assert self.process.wait(seconds) == 0, self.log.read_text()[-2_000:]
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self._out.close()


def workers(stack: Stack) -> list[psutil.Process]:
    """Return the bulk worker with its children, which do the work, and the worker that reads sources."""
    found = []
    for pid in map(stack.supervisor.pid, ("bulk", "sources")):
        with contextlib.suppress(psutil.NoSuchProcess):
            if pid is not None:
                process = psutil.Process(pid)
                found += [process, *process.children(recursive=True)]
    return found


def kill_at_random(stack: Stack, job: Import, chance: random.Random) -> Iterator[str]:
    """Kill one random worker, or all, repeatedly while the import runs. Yield a description of each kill."""
    while job.process.poll() is None:
        time.sleep(chance.uniform(0.1, 0.7))
        victims = workers(stack)
        if len(victims) < 2:
            continue
        chosen = victims if chance.random() < 0.5 else [chance.choice(victims[1:])]
        for victim in chosen:
            try:
                victim.kill()
            except psutil.NoSuchProcess:
                continue
        yield f"{len(chosen)} killed"


def imported(name: str, archive: Path, *, kills: int, seed: int) -> tuple[list[str], str]:
    """Import the archive into a new stack, with `kills` kills. Return the digest of each zone, and the counts."""
    with new_stack(name, sample_zones=False, traffic=False) as stack:
        job = Import(stack, archive)
        done = []
        if kills:
            for killed in kill_at_random(stack, job, random.Random(seed)):
                done.append(killed)
                if len(done) == kills:
                    break
        job.wait(seconds=240)
        assert len(done) == kills, f"the import was over after {len(done)} kills"
        wait_until_in_sync(stack, seconds=60)
        stack.run([sys.executable, "manage.py", "audit"])
        content = run_inside(stack, "import_kills.content")
        return content, run_inside(stack, "import_kills.counts")


@pytest.fixture
def directory() -> Iterator[Path]:
    """Create a directory that the stack's user can read, unlike pytest's directories."""
    path = FOLDER / "import-kills"
    unprivileged.make_directory(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_an_import_killed_many_times_equals_an_undisturbed_one(directory: Path, sample: Sample) -> None:
    zones = sample.few(1_500, 12_000, reason="zones of an import whose workers are killed")
    kills = sample.few(3, 10, reason="kills of an import's workers")
    archive = directory / "estate.tar.gz"
    write_archive(archive, zones=zones, records=int(zones * RECORDS_OF_A_ZONE))
    undisturbed, counts = imported("import-calm", archive, kills=0, seed=0)
    assert len(undisturbed) == zones
    disturbed, counts_of_disturbed = imported("import-killed", archive, kills=kills, seed=sample.seed)
    assert disturbed == undisturbed
    state, head, pieces, revisions = counts_of_disturbed.split()
    assert (state, int(revisions)) == ("done", zones)
    assert int(head) == int(pieces)  # one publication per piece, so no piece was repeated
    assert counts.split()[0] == "done"
