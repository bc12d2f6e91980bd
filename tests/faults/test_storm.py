"""A short storm of changes under query load: no answer is stale once the panel says "in sync"."""

import json
import subprocess
import sys

import pytest

from dnspanel.demo import unprivileged
from tests.full import Sample

pytestmark = pytest.mark.faults


def test_no_answer_is_stale_after_in_sync(sample: Sample) -> None:
    """The shortened form of `./dev bench storm`, which the benchmark itself runs on a stack of its own."""
    updates = sample.few(60, 300, reason="changes in a storm of queries")
    qps = sample.few(300, 3_000, reason="queries per second at each node while a storm changes it")
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_storm", "--updates", str(updates), "--qps", str(qps)],
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
