"""The commands `dnspanel plan` and `dnspanel apply`, which make zones equal to the zone files in a directory."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.session import Command, Session
from dnspanel.cli.waiting import Waiting
from dnspanel.cli.written import (
    confirm_option,
    publish,
    send_write,
    show_changes_of,
    show_written,
    waiting_options,
)
from dnspanel.cli.zone_paths import zone_path

SUFFIX = ".zone"
DIFFERENT = 2  # the exit code of `plan` if there is a difference
MOST_NAME = 80
_APPROVAL = "approval-needed"

_directory = click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))


class WrongUsage(click.UsageError):
    """Wrong usage of a command whose exit code 2 has another meaning."""

    exit_code = 1


class Comparison(Command):
    """A command that exits with 2 at a difference.

    Wrong usage exits with 1, so that a pipeline does not take it for a difference.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _usage_exits_with_one():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _usage_exits_with_one():
            return super().invoke(ctx)


@contextmanager
def _usage_exits_with_one() -> Iterator[None]:
    try:
        yield
    except click.UsageError as exc:
        raise WrongUsage(exc.format_message(), exc.ctx) from exc


@click.command(cls=Comparison)
@_directory
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Save the plan in this file, for `apply`.")
def plan(session: Session, directory: Path, out: Path | None) -> None:
    r"""Show the difference between zone files and the panel.

    DIR contains a file such as example.net.zone for each zone. Each file has all records of its zone. Nothing is
    written.

    Exit code 0 means that there is no difference, and 2 that there is one. Wrong usage has exit code 1 here.

    \b Examples:
      dnspanel plan zones
      dnspanel plan zones --out plan.json
    """
    files = _read_files(directory)
    answer, needs_approval = _plan(session, files)
    changed = [each for each in answer["plans"] if each["changes"]]
    if out is not None:
        # A plan with changes has the revision that the zone would have after them.
        revisions = {each["zone"]: each["revision"] - bool(each["changes"]) for each in answer["plans"]}
        zones = {
            name: {
                "at_revision": revisions.get(name) or session.client.get(zone_path(name))["revision"],
                "sha256": _digest(text),
            }
            for name, text in files.items()
        }
        out.write_text(json.dumps({"zones": zones}, indent=1) + "\n")
    if session.is_json:
        output.show_json({**answer, "needs_approval": needs_approval})
    else:
        show_changes_of(changed)
        if needs_approval:
            output.tell("These changes need approval. `dnspanel apply` creates a request for them.")
        output.tell(
            f"{output.count(len(changed), 'zone')} of {len(files)} would change." if changed else "No difference."
        )
    if changed:
        raise click.exceptions.Exit(DIFFERENT)


@click.command(cls=Command)
@_directory
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Refuse unless files and zones are as in this plan.",
)
@click.option("--reason", help="Reason for the history. The default is the git commit of DIR.")
@confirm_option
@waiting_options
def apply(
    session: Session, directory: Path, plan_file: Path | None, reason: str | None, *, confirm: bool, waiting: Waiting
) -> None:
    r"""Make zones equal to zone files, in one publication.

    If the changes need approval, a request with the reason as its name is created instead.

    \b Examples:
      dnspanel apply zones --wait
      dnspanel apply zones --plan plan.json
    """
    files = _read_files(directory)
    expected = _planned_revisions(plan_file, files) if plan_file else {}
    reason = _commit(directory) if reason is None else reason
    body = {"zones": _zones(files, expected), "reason": reason, "confirm": confirm}
    try:
        written = publish(session, "POST", "/bulk", body, waiting=waiting)
    except Refused as refusal:
        if refusal.code != _APPROVAL:
            raise
        request_body = body | {"into": "request", "name": " ".join(reason.split())[:MOST_NAME] or "Zone files"}
        request = session.client.send("POST", "/bulk", request_body)
        session.say_done(f"The changes wait for approval: dnspanel requests show {request['key']}", request=request)
        return
    show_written(session, written, waited=waiting.wait)


def _plan(session: Session, files: Mapping[str, str]) -> tuple[Mapping[str, Any], bool]:
    """Return the plans of publishing these files, and whether the publication needs approval."""
    body = {"zones": _zones(files, {})}
    try:
        return send_write(session, "POST", "/bulk", body, dry_run=True), False
    except Refused as refusal:
        if refusal.code != _APPROVAL:
            raise
    request_body = body | {"into": "request", "name": "plan"}
    return send_write(session, "POST", "/bulk", request_body, dry_run=True), True


def _read_files(directory: Path) -> dict[str, str]:
    """Return the text of each zone file by the zone's name. Raise UsageError if there are none."""
    found = {_zone_of(path): _text_of(path) for path in sorted(directory.glob(f"*{SUFFIX}")) if path.is_file()}
    if not found:
        raise click.UsageError(f"{directory} has no files with names such as example.net{SUFFIX}.")
    return found


def _zone_of(path: Path) -> str:
    """Return the zone of a file that is named as in exports: `=HH` is the character with this code."""
    name = unquote(path.name.removesuffix(SUFFIX).replace("%", "%25").replace("=", "%"))
    return name if name.endswith(".") else f"{name}."


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise click.UsageError(f"{path} cannot be read: {exc}") from exc


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _zones(files: Mapping[str, str], expected: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {"zone": name, "zone_file": text, **({"at_revision": expected[name]} if name in expected else {})}
        for name, text in files.items()
    ]


def _planned_revisions(plan_file: Path, files: Mapping[str, str]) -> dict[str, int]:
    """Return the revision of each zone in the plan. Raise UsageError if the plan was made for other files."""
    try:
        zones = json.loads(plan_file.read_text())["zones"]
        planned = {name: each["sha256"] for name, each in zones.items()}
        revisions = {name: int(each["at_revision"]) for name, each in zones.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise click.UsageError(f"{plan_file} is not a file of `dnspanel plan --out`.") from exc
    if planned != {name: _digest(text) for name, text in files.items()}:
        raise click.UsageError(f"The zone files have changed since {plan_file} was written. Plan again.")
    return revisions


def _commit(directory: Path) -> str:
    """Return the hash and subject of the git commit of the directory, or "" outside a git repository."""
    command = ["git", "-C", str(directory), "log", "-1", "--format=Commit %h: %s"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
