"""Build the command-line client as a single file that matches this panel's version and needs only Python."""

import io
import zipfile
from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath

from dnspanel import __version__

# The imports of `dnspanel.cli`, as in the extra `cli` of pyproject.toml.
DISTRIBUTIONS = ("click", "jmespath", "urllib3")
# The name of the file and of the command.
NAME = "dnspanel"
# The file with the address of the panel that built the archive. `cli.config` reads it.
ADDRESS_FILE = "built_for.txt"

_SHEBANG = b"#!/usr/bin/env python3\n"
_PACKAGE = Path(__file__).parent / "cli"
_LICENCES = [_PACKAGE.parents[1] / name for name in ("LICENSE", "NOTICE")]
# `dnspanel` and `replication` determine the version from files and git, which are missing in an archive.
_INIT = '"""The command line of dnspanel, as one file."""\n\n__version__ = {version!r}\n'
_MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("dnspanel needs Python 3.11 or newer. This is Python " + sys.version.split()[0] + ".")

from dnspanel.cli.__main__ import main

main()
"""
# A fixed time, so that every build of a version has the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)


class NotPure(Exception):
    """A package cannot be included in the file, because it has compiled code or its list of files is missing."""

    def __init__(self, distribution: str) -> None:
        super().__init__(f"{distribution} is not installed as a package of Python code only.")


@lru_cache(maxsize=2)
def command_line(panel_url: str) -> bytes:
    """Return the command-line client as one executable file. By default, it connects to the panel at this URL.

    The file contains no secret. Raise NotPure if a required package can't be included.
    """
    content = io.BytesIO(_SHEBANG)
    content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(_files(panel_url).items()):
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _files(panel_url: str) -> dict[str, bytes]:
    found = {
        "__main__.py": _MAIN.encode(),
        "dnspanel/__init__.py": _INIT.format(version=__version__).encode(),
        f"dnspanel/cli/{ADDRESS_FILE}": panel_url.encode(),
    }
    found |= {f"dnspanel/{path.name}": path.read_bytes() for path in _LICENCES}
    found |= {f"dnspanel/cli/{path.relative_to(_PACKAGE)}": path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    for distribution in DISTRIBUTIONS:
        found |= _files_of(distribution)
    return found


def _files_of(distribution: str) -> dict[str, bytes]:
    """Return the code and licenses of an installed package, keyed by path. Raise NotPure if it can't be included."""
    installed = metadata.distribution(distribution)
    if not installed.files or "Root-Is-Purelib: true" not in (installed.read_text("WHEEL") or ""):
        raise NotPure(distribution)
    return {str(path): path.read_binary() for path in installed.files if _belongs(path)}


def _belongs(path: PurePosixPath) -> bool:
    """Return True if the archive should include this file of an installed package: Python code, or a license."""
    if ".." in path.parts:  # a program in bin/
        return False
    return path.suffix == ".py" or "LICENSE" in path.name.upper()
