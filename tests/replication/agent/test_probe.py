"""The process that reads every row of a node's files. Damage can crash only this process."""

import subprocess
import sys
from pathlib import Path

from replication.agent.probe import read_everything
from tests.replication.agent.updates.test_rebuild_node import tear_pages
from tests.replication.panel import Panel, small_zone


def probe(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "replication.agent.probe", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[3],
    )


def test_undamaged_files_are_read_to_the_last_row(panel: Panel, tmp_path: Path) -> None:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(1000)))
    panel.store.copy(tmp_path / "copy.lmdb")
    assert read_everything(str(tmp_path / "copy.lmdb")) > 1000 * 6
    assert probe(tmp_path / "copy.lmdb").returncode == 0


def test_torn_pages_end_the_probe_and_nobody_else(panel: Panel, tmp_path: Path) -> None:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(3000)))
    panel.store.copy(tmp_path / "copy.lmdb")
    tear_pages(tmp_path / "copy.lmdb-0")
    assert probe(tmp_path / "copy.lmdb").returncode != 0


def test_files_cut_short_end_the_probe(panel: Panel, tmp_path: Path) -> None:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(3000)))
    panel.store.copy(tmp_path / "copy.lmdb")
    with (tmp_path / "copy.lmdb-0").open("r+b") as file:
        file.truncate(5 * 4096)
    assert probe(tmp_path / "copy.lmdb").returncode != 0


def test_what_is_no_lmdb_file_gets_a_message(tmp_path: Path) -> None:
    for name in ("", "-0"):
        (tmp_path / f"junk{name}").write_bytes(b"junk" * 4096)
    done = probe(tmp_path / "junk")
    assert done.returncode == 1
    assert "not an LMDB file" in done.stderr or "Invalid" in done.stderr or "INVALID" in done.stderr, done.stderr
