"""With several processes, each test file is imported once, and its tests run as in one process."""

import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tests.handed_files import hands_out_files

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ("tests.workers", "tests.handed_files", "tests.lanes", "tests.full", "no:schemathesis", "no:django")
IMPORTED = "open({log!r}, 'a').write({name!r} + '\\n')\n"
FILES = {
    "conftest": """
        import pytest

        @pytest.fixture(scope="module")
        def room(request):
            yield request.module.__name__
            print(file=open({log!r}, "a"), *["closed", request.module.__name__])
        """,
    "test_good": "def test_one(room): pass\ndef test_two(room): pass\n",
    "test_more": "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_n(room, n): pass\n",
    "test_wrong": "def test_a(room):\n    value = 1\n    assert value == 2\ndef test_b(): pass\n",
    "test_rests": "import pytest\n@pytest.mark.full(reason='rests')\ndef test_a(room): pass\n",
    "test_sampled": "import pytest\n@pytest.mark.sample(2, reason='n')\n@pytest.mark.parametrize('n', range(9))\n"
    "def test_n(room, n): pass\n",
    "test_skipped": "import pytest\npytest.skip('not here', allow_module_level=True)\n",
    "test_broken": "import no_such_module\n",
}


def run(folder: Path) -> tuple[str, list[str]]:
    """Run the files in two processes. Return pytest's output and the lines that the files wrote."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    for name, text in FILES.items():
        body = "\n".join(line.removeprefix(" " * 8) for line in text.replace("{log!r}", repr(str(log))).splitlines())
        wrote = "" if name == "conftest" else IMPORTED.format(log=str(log), name=name)
        (folder / f"{name}.py").write_text(wrote + body + "\n")
    (folder / "pytest.ini").touch()
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-n2", "-q", "-rfEs", "--import-mode=importlib"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DJANGO_"))}
        | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr, log.read_text().splitlines()


@pytest.mark.turn(4, reason="a whole run of pytest within a test")
def test_each_file_is_imported_once_and_its_tests_run_as_always(tmp_path: Path) -> None:
    output, log = run(tmp_path)
    assert re.search(r"1 failed, 14 passed, 1 skipped, 1 error in", output), output
    assert "FAILED test_wrong.py::test_a - assert 1 == 2" in output
    assert "No module named 'no_such_module'" in output
    assert re.search(r"SKIPPED .* not here", output), output
    assert re.search(r"1 more: rests\n +7 more: n|7 more: n\n +1 more: rests", output), output
    assert sorted(line for line in log if not line.startswith("closed")) == sorted({*FILES} - {"conftest"})
    # A module's fixtures are closed after its last test, before another file uses its own.
    assert sorted(line for line in log if line.startswith("closed")) == [
        f"closed {name}" for name in ("test_good", "test_more", "test_sampled", "test_wrong")
    ]


def test_a_run_that_chooses_among_the_tests_of_files_does_not_hand_out_files() -> None:
    def hands_out(*args: str, numprocesses: int | None = 2, **options: object) -> bool:
        option = Namespace(numprocesses=numprocesses, **options)
        return hands_out_files(Namespace(option=option, args=args))  # type: ignore[arg-type]

    assert hands_out("tests")
    assert hands_out("tests/test_lanes.py", "tests/docs")
    assert not hands_out("tests", numprocesses=None)
    assert not hands_out("tests/test_lanes.py::test_a")
    assert not hands_out("tests", keyword="name")
    assert not hands_out("tests", markexpr="not flow")
