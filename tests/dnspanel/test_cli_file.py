"""Tests of the command line as a single file, run by a Python without installed packages."""

import io
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from dnspanel import __version__, cli_file
from dnspanel.cli_file import DISTRIBUTIONS, NotPure, command_line

ROOT = Path(__file__).resolve().parents[2]
HERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("downloaded") / "dnspanel"
    path.write_bytes(command_line(HERE))
    path.chmod(0o755)
    return path


def run(program: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the file with Debian's Python alone, without this checkout and without installed packages."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(program.parent), **environment}
    return subprocess.run(
        [str(program), *args], env=environ, cwd="/", capture_output=True, text=True, timeout=60, check=False
    )


def test_it_runs_with_python_alone(program: Path) -> None:
    displayed = run(program, "--help")
    assert (displayed.returncode, displayed.stderr) == (0, "")
    assert displayed.stdout.startswith("Usage: dnspanel [OPTIONS] COMMAND [ARGS]...")
    assert run(program, "--version").stdout == f"dnspanel {__version__}\n"
    # -S disables the import of installed packages.
    bare = subprocess.run(
        ["/usr/bin/python3", "-I", "-S", program, "api", "--help"], capture_output=True, text=True, check=False
    )
    assert (bare.returncode, bare.stderr) == (0, "")


def test_it_asks_the_panel_that_it_comes_from(program: Path) -> None:
    done = run(program, "whoami", DNSPANEL_TOKEN="dnsp_secret")
    assert (done.returncode, HERE in done.stderr) == (3, True)
    refused = run(program, "whoami", "--url", "http://127.0.0.1:2", DNSPANEL_TOKEN="dnsp_secret")
    assert (refused.returncode, "isn't sent to http://127.0.0.1:2" in refused.stderr) == (2, True)


def test_an_old_python_is_told_which_one_is_needed(program: Path) -> None:
    with zipfile.ZipFile(program) as archive:
        first = archive.read("__main__.py").decode()
    old = "import sys; sys.version_info = (3, 9, 2)\n"
    done = subprocess.run([sys.executable, "-c", old + first], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.startswith("dnspanel needs Python 3.11 or newer.")) == (1, True)


def test_every_build_of_a_version_is_the_same_file(program: Path) -> None:
    code = f"import sys; from dnspanel.cli_file import command_line; sys.stdout.buffer.write(command_line({HERE!r}))"
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, umask=0o077)
    assert again.stdout == program.read_bytes()


def test_it_has_all_that_the_command_line_needs_and_nothing_of_the_panel() -> None:
    """The file must also contain every new dependency in `pyproject.toml` and its dependencies."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cli"]
    assert sorted(re.split(r"[<>=\[]", each)[0] for each in extra) == sorted(DISTRIBUTIONS)
    for distribution in DISTRIBUTIONS:
        needed = [each for each in metadata.requires(distribution) or () if "extra ==" not in each]
        assert [each for each in needed if 'platform_system == "Windows"' not in each] == [], distribution
    with zipfile.ZipFile(io.BytesIO(command_line(HERE))) as archive:
        names = archive.namelist()
    code = {name for name in names if name.startswith("dnspanel/cli/") and name.endswith(".py")}
    cli = ROOT / "dnspanel" / "cli"
    assert code == {f"dnspanel/cli/{path.relative_to(cli)}" for path in cli.rglob("*.py")}
    assert [name for name in names if name.startswith("dnspanel/") and not name.startswith("dnspanel/cli/")] == [
        "dnspanel/LICENSE",
        "dnspanel/NOTICE",
        "dnspanel/__init__.py",
    ]
    for distribution in DISTRIBUTIONS:
        assert any(name.startswith(f"{distribution}-") and "LICENSE" in name for name in names), distribution


def test_compiled_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_file, "DISTRIBUTIONS", ("lmdb",))
    with pytest.raises(NotPure, match="lmdb is not installed as a package of Python code only"):
        command_line("https://other.test")
