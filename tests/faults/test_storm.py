"""A short storm of changes under query load: no answer is stale after the panel displays "in sync"."""

import json
import subprocess
import sys

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.full import Sample

pytestmark = [pytest.mark.faults, pytest.mark.turn(3, reason="a storm of changes under query load")]


def test_no_answer_is_stale_after_in_sync(faulty: Stack, sample: Sample) -> None:
    """A short form of `./dev bench storm`."""
    updates = sample.few(60, 300, reason="changes in a storm of queries")
    qps = sample.few(300, 3_000, reason="queries per second at each node while a storm changes it")
    options = ["--stack", str(faulty.directory), "--updates", str(updates), "--qps", str(qps)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_storm", *options],
        cwd=unprivileged.CHECKOUT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["updates"] == updates
    assert figures["stale"] == 0, done.stdout
    assert figures["qps"] > 100
