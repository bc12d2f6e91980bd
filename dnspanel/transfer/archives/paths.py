"""Normalize paths in uploads and archives, and refuse unsafe paths.

Paths are only labels. The panel never uses them to open a file.
"""

import fnmatch
import itertools
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from dnspanel.texts import gettext
from dnspanel.transfer.errors import UploadRefused
from dnspanel.transfer.import_limits import MOST_PATH_BYTES

# Most paths in archives need no normalization.
_UNUSUAL = re.compile(r"[\x00-\x1f\x7f\\:\ud800-\udfff]|^/|//|(?:^|/)\.{1,2}(?:/|$)|/$|^$")
_DRIVE = re.compile(r"(?:^|/)[A-Za-z]:(?:/|$)")
_DRIVE_IN_FRONT = re.compile(r"[A-Za-z]:(?=/)")
_BACKSLASHES = re.compile(r"\\+")
_MOST_DISPLAYED = 80


def clean_path(path: str) -> str:
    """Return the path relative to its upload, with `/` between names and with unprintable characters escaped.

    Raise UploadRefused (limit `path`) for a path that is empty, too long, absolute or otherwise unsafe.
    """
    if len(path) * 4 > MOST_PATH_BYTES and len(path.encode(errors="surrogatepass")) > MOST_PATH_BYTES:
        raise _refusal_of_path(
            path, gettext("the path is longer than {most_path_bytes} bytes").format(most_path_bytes=MOST_PATH_BYTES)
        )
    if not _UNUSUAL.search(path):
        return path
    if "\0" in path:
        raise _refusal_of_path(path, gettext("the path contains a null byte"))
    if "\\" in path:
        raise _refusal_of_path(path, gettext("the path contains a backslash"))
    if path.startswith("/"):
        raise _refusal_of_path(path, gettext("the path is absolute"))
    if _DRIVE.search(path):
        raise _refusal_of_path(path, gettext("the path contains a drive letter"))
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise _refusal_of_path(path, gettext("the path leaves the directory with “..”"))
    if not names:
        raise _refusal_of_path(path, gettext("the path is empty"))
    return printable("/".join(names))


def printable(text: str) -> str:
    """Return the text with an escape such as `%1f` for each byte or character that can't be displayed or stored."""
    return "".join(
        f"%{ord(char) & 0xFF:02x}" if ord(char) < 32 or ord(char) == 127 or "\ud800" <= char <= "\udfff" else char
        for char in text
    )


def _refusal_of_path(path: str, reason: str) -> UploadRefused:
    displayed = printable(path if len(path) <= _MOST_DISPLAYED else path[:_MOST_DISPLAYED] + "…")
    return UploadRefused(
        gettext("The path “{path}” is not allowed: {reason}.").format(path=displayed, reason=reason), limit="path"
    )


class PathIndex:
    """An index of all paths in an upload, for finding the files that a zone file or a configuration refers to."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_name[path.rpartition("/")[2]].append(path)

    def find_paths(self, requested: str, *in_folders: str) -> list[str]:
        """Return the paths that `requested` can refer to: none, one, or several that match equally well.

        If several files have this name, `in_folders` are searched first. If none of them has the file, the path with
        the longest common suffix wins: `/etc/bind/zones/a.db` on the server can be `zones/a.db` or `a.db` here. Files
        outside the upload never match.

        Paths from Windows can have a drive, backslashes (often doubled in BIND's configurations), and names in any mix
        of uppercase and lowercase.
        """
        is_of_windows = "\\" in requested or _DRIVE.match(requested) is not None
        requested, *folders = map(_with_slashes, (requested, *in_folders))
        name = requested.rpartition("/")[2]
        fitting = self._by_name.get(name, [])
        if not fitting and is_of_windows:
            fitting = self._by_lowered.get(name.lower(), [])
        if len(fitting) < 2:
            return fitting
        for folder in folders:
            exact = posixpath.normpath(posixpath.join("/", folder, requested)).lstrip("/")
            if exact in fitting:
                return [exact]
        target = _names_from_end(posixpath.join("/", folders[-1] if folders else "", requested))
        shared = [_count_shared(target, _names_from_end(path)) for path in fitting]
        return [path for path, count in zip(fitting, shared, strict=True) if count == max(shared)]

    @cached_property
    def _by_lowered(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, paths in self._by_name.items():
            found[name.lower()] += paths
        return found

    def fitting(self, pattern: str) -> list[str]:
        """Return the sorted paths whose file name matches the last part of the pattern, which can contain `*`."""
        name = _with_slashes(pattern).rpartition("/")[2]
        names = fnmatch.filter(self._by_name, name)
        return sorted(path for name in names for path in self._by_name[name])


def _with_slashes(path: str) -> str:
    """Return a path without a Windows drive and with `/` in place of backslashes."""
    path = _BACKSLASHES.sub("/", path) if "\\" in path else path
    return _DRIVE_IN_FRONT.sub("", path, count=1) if _DRIVE_IN_FRONT.match(path) else path


def _names_from_end(path: str) -> list[str]:
    return posixpath.normpath(path).strip("/").split("/")[::-1]


def _count_shared(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
