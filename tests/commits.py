"""The rule for commit subjects: `area: Verb object`, imperative, at most 72 characters.

`./dev` installs a `commit-msg` hook that refuses any other subject, and `./dev check` prints the subjects since `BASE`
that are wrong. Only the standard library is used: the hook runs without the environment of the tests.
"""

import difflib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_CHARACTERS = 72
# The last commit before this rule. Subjects up to it stay unchanged.
BASE = "aa5e1434b10f091d8c7595f4a6b18f02a31676dd"

# The places of changes: packages, rooms with a known name, or other parts of the repository.
_AREAS = """
    accounts alerts api audit backup catalogs cli database demo fleet gateway monitoring primaries processes publish
    secondaries transfer web webhooks zones

    agent codec compile dns front replication store wire

    dnssec drafts editor exports forward imports push requests rules runs scim search sessions settings templates tokens
    zonefile

    bench changelog ci deploy dev docs house licence locale migrations panel readme requirements setup static tests
    texts
"""
AREAS = frozenset(_AREAS.split())

# Git writes these subjects itself.
OF_GIT = re.compile(
    r'(fixup|squash|amend)! |(Revert|Reapply) "|Merge (branch|branches|commit|pull|remote-tracking|tag) '
)
SUBJECT = re.compile(r"(?P<areas>[^:]+): (?P<verb>\S+) \S")
VERB = re.compile(r"[A-Z][a-z]+(-[a-z]+)?")
# Words that begin a statement, and not the action of the commit.
_NO_VERBS = """
    a after all an and another any as at before both but by each every few for from how if in into is it its less many
    more most neither new no not nothing now of on one only other others own same several since so some than that the
    their then there these they this those three to two under until up what when where whether which who whoever why
    with without
"""
NO_VERBS = frozenset(_NO_VERBS.split())
# Verbs that only look like another form.
VERBS = frozenset({"Bring", "Embed", "Feed", "Focus", "Need", "Ping", "Ring", "Seed", "Shed", "Speed", "String"})
OTHER_FORM = re.compile(r".*(ed|ing|[^s]s)")

HOOK = """#!/bin/sh
# ./dev installs it, and replaces it while this line is here: tests.commits says what a subject looks like.
[ -e tests/commits.py ] || exit 0
exec python3 -B -m tests.commits "$1"
"""
OURS = HOOK.splitlines()[1]


class UnknownHistory(Exception):
    """The commits to check cannot be found."""


def complaint(subject: str) -> str:
    """Return a complaint about a commit's subject with a suggestion, or an empty string if the subject is valid."""
    if OF_GIT.match(subject):
        return ""
    found = SUBJECT.match(subject)
    if not found:
        return "write area: Verb object, such as zones: Skip rule checks for unchanged RRsets"
    for area in found["areas"].split(", "):
        if area not in AREAS:
            near = ", ".join(difflib.get_close_matches(area, sorted(AREAS)))
            return f"{area!r} is not an area{f', perhaps {near}' if near else ''} (AREAS in tests/commits.py)"
    verb = found["verb"]
    is_other = verb.lower() in NO_VERBS or (OTHER_FORM.fullmatch(verb) and verb not in VERBS)
    if is_other or not VERB.fullmatch(verb):
        return f"begin with a capitalized verb in the imperative, such as Add, Fix or Show, not with {verb!r}"
    if len(subject) > MOST_CHARACTERS:
        return f"shorten it from {len(subject)} to {MOST_CHARACTERS} characters, the body may say more"
    return "leave out the full stop at the end" if re.search(r"(?<!\.)\.$", subject) else ""


def subject_of(message: str) -> str:
    """Return the subject as Git reads it from a message with comments: the lines before the first empty one."""
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    first = "\n".join(lines).strip("\n").partition("\n\n")[0]
    return " ".join(first.split("\n"))


def complaints(repository: Path, base: str = BASE) -> Iterator[str]:
    """Yield a line for each commit since the base whose subject is invalid.

    In a shallow clone without the base, all commits are checked. Raise UnknownHistory if Git cannot list the commits.
    """
    since = [f"{base}..HEAD"]
    if _git(repository, "rev-parse", "--verify", "--quiet", "HEAD") is None:
        raise UnknownHistory("there is no history")
    if _git(repository, "merge-base", "--is-ancestor", base, "HEAD") is None:
        if _git(repository, "rev-parse", "--is-shallow-repository") != "true\n":
            raise UnknownHistory(f"the history does not hold {base[:8]}, after which they count")
        since = ["HEAD"]
    for line in (_git(repository, "log", "--no-merges", "--format=%h %s", *since) or "").splitlines():
        commit, _, subject = line.partition(" ")
        if wrong := complaint(subject):
            yield f"commit {commit}: {subject}: {wrong}"


def _git(repository: Path, *args: str) -> str | None:
    """Return the output of a Git command, or None if it failed or Git is not installed."""
    try:
        done = subprocess.run(["git", *args], cwd=repository, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout


def install_hook(repository: Path) -> None:
    """Write the `commit-msg` hook, unless the repository has another one or its own hooks directory."""
    path = _git(repository, "rev-parse", "--git-path", "hooks/commit-msg")
    if path is None or _git(repository, "config", "core.hooksPath") is not None:
        return
    hook = repository / path.rstrip("\n")
    before = hook.read_text(errors="replace") if hook.exists() else OURS
    if before == HOOK or OURS not in before:
        return
    try:
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)
    except OSError as error:
        sys.stderr.write(f"The commit-msg hook was not installed: {error}\n")


def main(args: list[str]) -> str | None:
    """Install the hook, check a message file as the hook does, or check the history. Return complaints, or None."""
    if args == ["--install"]:
        install_hook(ROOT)
        return None
    if args:
        subject = subject_of(Path(args[0]).read_text(errors="replace"))
        wrong = complaint(subject) if subject else ""
        return f"Commit subject refused: {wrong}." if wrong else None
    try:
        return "\n".join(complaints(ROOT)) or None
    except UnknownHistory as error:
        sys.stderr.write(f"Subjects of commits were not checked: {error}.\n")
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
