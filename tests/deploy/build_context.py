"""The build context that `docker build` sends, and the files that a Dockerfile's stages copy, computed like Docker."""

import json
import os
import posixpath
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.docs.documents import ROOT

Pattern = tuple[bool, re.Pattern[str]]


def parse_dockerignore(text: str) -> list[Pattern]:
    """Parse the ignore file. Return its patterns in order, each with True if it excludes.

    Follows moby/patternmatcher and its ignorefile reader: comments start at the line's beginning, `!` includes again,
    paths are normalized, and leading slashes are ignored.
    """
    found: list[Pattern] = []
    for line in text.removeprefix("\ufeff").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        excludes, pattern = True, line.strip()
        if pattern.startswith("!"):
            excludes, pattern = False, pattern[1:].strip()
        pattern = posixpath.normpath(pattern)
        found.append((excludes, re.compile(_expression(pattern.lstrip("/") or pattern))))
    return found


def is_sent(path: str, patterns: Sequence[Pattern]) -> bool:
    """Return True if the file is in the build context. The last pattern that matches it or its directory decides."""
    above = [path, *(path[:place] for place, character in enumerate(path) if character == "/")]
    sent = True
    for excludes, pattern in patterns:
        if any(pattern.fullmatch(each) for each in above):
            sent = not excludes
    return sent


def _expression(pattern: str) -> str:
    """Convert a pattern to a regular expression. `*` and `?` exclude slashes; `**` matches any directories."""
    made, place = "", 0
    while place < len(pattern):
        character = pattern[place]
        if pattern.startswith("**", place):
            place += 2
            if pattern.startswith("/", place):
                place += 1
            made += ".*" if place >= len(pattern) else "(?:.*/)?"
            continue
        if character == "[" and "]" in pattern[place + 1 :]:
            end = pattern.index("]", place + 1)
            made += pattern[place : end + 1]
            place = end
        elif character == "\\" and place + 1 < len(pattern):
            place += 1
            made += re.escape(pattern[place])
        else:
            made += {"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character))
        place += 1
    return made


@dataclass(frozen=True)
class Copy:
    """A COPY or ADD instruction. `stage` is the name after --from, or empty for the build context."""

    stage: str
    sources: tuple[str, ...]
    target: str


@dataclass
class Stage:
    """A Dockerfile stage, including instructions that it inherits from its base stages."""

    name: str
    base: "Stage | None"
    copies: list[Copy] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)
    directory: str = "/"

    @property
    def line(self) -> "Iterator[Stage]":
        """This stage, followed by its base stages."""
        stage: Stage | None = self
        while stage is not None:
            yield stage
            stage = stage.base

    def has_made(self, path: str) -> bool:
        """Return True if an instruction copies to this path, or a RUN names it."""
        for stage in self.line:
            if any(f"{path}/".startswith(f"{copy.target.rstrip('/')}/") for copy in stage.copies):
                return True
            if any(re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w.-])", run) for run in stage.runs):
                return True
        return False


def parse_dockerfile(text: str) -> dict[str, Stage]:
    """Parse a Dockerfile into its stages by name. Raise KeyError if a COPY names a stage that is not above it."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    stages: dict[str, Stage] = {}
    stage = Stage(name="", base=None)
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        instruction, _, rest = line.strip().partition(" ")
        match instruction.upper():
            case "FROM":
                image, _, name = re.split(r"\s+(as)\s+", rest, flags=re.IGNORECASE) if " " in rest else (rest, "", "")
                base = stages.get(image)
                stage = Stage(name=name or image, base=base, directory=base.directory if base else "/")
                stages[stage.name] = stage
            case "COPY" | "ADD":
                stage.copies.append(_copy(rest, directory=stage.directory, earlier=[*stages][:-1]))
            case "RUN":
                stage.runs.append(rest)
            case "WORKDIR":
                stage.directory = posixpath.join(stage.directory, rest)
            case "ENV":
                stage.environment |= dict(word.split("=", 1) for word in shlex.split(rest))
            case "CMD":
                stage.command = json.loads(rest)
    return stages


def _copy(rest: str, *, directory: str, earlier: Sequence[str]) -> Copy:
    words = rest.split()
    options = [word for word in words if word.startswith("--")]
    named = [option.removeprefix("--from=") for option in options if option.startswith("--from=")]
    if named and named[0] not in earlier:
        raise KeyError(named[0])
    listed = " ".join(words[len(options) :])
    *sources, target = json.loads(listed) if listed.startswith("[") else shlex.split(listed)
    path = posixpath.normpath(posixpath.join(directory, target)).rstrip("/")
    # The slash makes the target a directory, even for a single file.
    path += "/" if target.endswith("/") or len(sources) > 1 else ""
    return Copy(stage=named[0] if named else "", sources=tuple(sources), target=path)


def files_of(source: str, files: Sequence[str]) -> list[str]:
    """Return the context's files for a COPY source: a file, a directory's files, or the matches of a pattern."""
    wanted = posixpath.normpath(source.lstrip("/"))
    if wanted == ".":
        return list(files)
    depth = wanted.count("/") + 1
    return [file for file in files if fnmatchcase("/".join(file.split("/")[:depth]), wanted)]


@cache
def context_files() -> list[str]:
    """Return the files of the repository that are in the build context."""
    patterns = parse_dockerignore((ROOT / ".dockerignore").read_text())
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in tracked.split("\0") if path and (ROOT / path).exists() and is_sent(path, patterns)]


def copy_files(stage: Stage, root: Path) -> None:
    """Copy the files that the stage copies from the context into `root`, like Docker."""
    for copy in [copy for each in stage.line for copy in each.copies if not copy.stage]:
        target = root / copy.target.lstrip("/")
        for source in copy.sources:
            files = files_of(source, context_files())
            is_file = files == [source]
            for file in files:
                below = Path(file).name if is_file else os.path.relpath(file, source)
                is_renamed = is_file and not copy.target.endswith("/") and not target.is_dir()
                path = target if is_renamed else target / below
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes((ROOT / file).read_bytes())
