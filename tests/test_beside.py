"""The check that runs beside the tests counts as one more test. Its complaints are printed and fail the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
from pathlib import Path
from tests.beside import Beside

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        command, log = ["sh", "-c", {script!r}], Path(__file__).with_name("log")
        config.pluginmanager.register(Beside(command, log=log, longest_wait={longest_wait}), "beside-check")
"""


def run_with(
    folder: Path, script: str, *arguments: str, test: str = "pass", longest_wait: float = 60.0
) -> tuple[int, str]:
    """Run one test in a separate pytest, with the script in parallel."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST.format(script=script, longest_wait=longest_wait))
    (folder / "test_one.py").write_text(f"def test_one():\n    {test}\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rf", *arguments], cwd=folder, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_without_a_complaint_it_is_a_test_that_passed(tmp_path: Path) -> None:
    status, out = run_with(tmp_path, "echo all is well")
    assert status == 0
    assert "2 passed" in out.splitlines()[-1]
    assert "all is well" not in out


@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "several"])
def test_a_complaint_fails_the_run_and_is_printed_before_the_last_line(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    status, out = run_with(tmp_path, "echo a line is too long; exit 3", *processes)
    *before, last = out.splitlines()
    assert status == 1
    assert "1 failed, 1 passed" in last
    assert "a line is too long" in before
    assert any(line.startswith("FAILED sh -c") for line in before)


def test_what_does_not_end_is_killed_and_fails_the_run_with_its_output(tmp_path: Path) -> None:
    status, out = run_with(tmp_path, f"echo $$ >{tmp_path}/pid; echo looks at all; exec sleep 600", longest_wait=0.5)
    *before, last = out.splitlines()
    assert status == 1
    assert "1 failed, 1 passed" in last
    assert "looks at all" in before
    assert any(line.endswith("still ran 0.5 s after the last test, and was killed") for line in before)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_run_that_is_interrupted_ends_it(tmp_path: Path) -> None:
    waits = "import os, time\n    while not os.path.exists('pid'): time.sleep(0.01)\n    raise KeyboardInterrupt"
    status, out = run_with(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600", test=waits)
    assert status == 2, out
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
