"""The commands `dnspanel import` and `dnspanel imports`, which upload files, and publish or undo imports."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused, TakenBack
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import passphrase_in, passphrase_option
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Command, Commands, Session, options, options_as
from dnspanel.cli.standard_input import STANDARD_INPUT, standard_input_as_file
from dnspanel.cli.waiting import timeout_option, wait_for
from dnspanel.cli.written import dry_run_option, send_write
from dnspanel.cli.zones.upload import upload

POLL_SECONDS = 0.5
MOST_FAULTS = 20
# Errors of a file that has only a part of a zone.
_OF_A_PART = {"soa-missing", "apex-ns-missing"}
_LISTED = (
    Column("ID", "id", right=True),
    Column("TITLE", "title"),
    Column("STATE", "state", state=True),
    Column("ZONES", "zones", right=True),
    Column("RECORDS", "records", right=True),
    Column("ERRORS", "errors", right=True),
    Column("PUBLISHED", "published", right=True),
    output.by("created_by"),
    Column("AT", lambda row: output.moment(row["created_at"])),
)
_ACTIVE = {"scanning": "reading", "planning": "dry run", "applying": "publishing", "undoing": "taking back"}
# The counts that are shown. Other counts are rare and only in the JSON.
_PLANNED = (
    "creates",
    "unions",
    "rrset_replaces",
    "replaces",
    "unchanged",
    "skipped",
    "failed",
    "duplicates",
    "added",
    "changed",
    "removed",
    "values_removed",
)

# The options of commands that publish an import.
applying_options = options(
    click.option("--confirm", is_flag=True, help="Publish even if zones lose many records."),
    click.option("--wait", is_flag=True, help="Wait until every node answers with the import."),
    timeout_option("Stop waiting this many seconds after the last publication (with --wait)."),
)


@dataclass(frozen=True, slots=True)
class Handling:
    """Options that determine how an import handles existing zones, new zones and signatures."""

    existing: str
    new: str
    signatures: str


handling_options = options_as(
    "handling",
    Handling,
    click.option(
        "--existing",
        type=click.Choice(["union", "rrsets", "replace", "skip"]),
        default="union",
        show_default=True,
        help="Handling of zones that exist: add values (union), replace only the RRsets in the file (rrsets), replace "
        "the zone, or skip.",
    ),
    click.option(
        "--new",
        type=click.Choice(["create", "skip"]),
        default="create",
        show_default=True,
        help="Handling of zones that do not exist.",
    ),
    click.option(
        "--signatures",
        type=click.Choice(["drop", "keep"]),
        default="drop",
        show_default=True,
        help="Signatures of signed zones: drop the signatures, or serve the zones with the signatures.",
    ),
)


@click.command("import", cls=Command)
@click.argument(
    "files", metavar="FILES...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path, allow_dash=True)
)
@click.option("--apply", is_flag=True, help="Publish the result of the dry run. Without --apply, nothing is written.")
@handling_options
@click.option(
    "--source",
    type=click.Choice(["files", "json", "powerdns-dump", "powerdns-lmdb"]),
    default="files",
    show_default=True,
    help="Kind of the files; `files` are zone files, archives and named.conf.",
)
@click.option("--title", help="Title of the import in lists.")
@click.option(
    "--name",
    default="standard-input",
    show_default=True,
    help="File name of standard input. A zone file without $ORIGIN is for the zone of this name.",
)
@passphrase_option("File with the passphrase (one line) for the private DNSSEC keys of a JSON export.")
@applying_options
def import_files(
    session: Session,
    files: Sequence[Path],
    *,
    apply: bool,
    handling: Handling,
    source: str,
    title: str | None,
    name: str,
    keys_passphrase_file: Path | None,
    **how: Any,
) -> None:
    r"""Import zone files, folders or archives.

    - is standard input. Every import starts with a dry run; --apply publishes the result. The dry run prints how many
    RRsets change; the import's page in the panel shows the changes of each zone.

    Exit code 1 means that some zones were not imported. With --wait, this includes zones that were taken back because
    the name servers could not serve them.

    \b Examples:
      dnspanel import example.net.zone
      dnspanel import /etc/bind/zones --existing replace --apply --wait
      dnspanel import backup.tar.gz --apply
      named-compilezone -o - example.net db.example | dnspanel import - --name example.net.zone
    """
    if keys_passphrase_file and source != "json":
        raise click.UsageError(
            "--keys-passphrase-file needs --source json: only --source json can contain sealed keys."
        )
    first = name if files[0] == STANDARD_INPUT else files[0].name
    body = {
        "source": source,
        "title": title or (first if len(files) == 1 else f"{first} and {len(files) - 1} more"),
        "options": asdict(handling),
    }
    job = session.client.send("POST", "/imports", body | passphrase_in(keys_passphrase_file))
    output.tell(f"Import {job['id']}")
    session.way_on = f"Import {job['id']} is not complete. To discard it: dnspanel imports cancel {job['id']}"
    with standard_input_as_file(files, name) as paths:
        upload(session, job["id"], paths, pack=source == "files")
    _act(session, job["id"], "scan")
    if follow(session, job["id"])["state"] == "choosing":
        _act(session, job["id"], "plan")
    _conclude(session, follow(session, job["id"]), apply=apply, **how)


@click.group(cls=Commands)
def imports() -> None:
    """Manage imports that were started."""


@imports.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Show this many imports.")
def list_imports(session: Session, limit: int) -> None:
    """List imports, newest first."""
    session.show_rows(session.client.get("/imports", limit=limit)["items"], _LISTED, none="No imports.")


@imports.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
def show(session: Session, number: int) -> None:
    """Show an import and its result."""
    job = session.client.get(f"/imports/{number}")
    _show(session, job)


@imports.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@applying_options
@dry_run_option
def apply(session: Session, number: int, *, dry_run: bool, **how: Any) -> None:
    """Publish an import after its dry run."""
    if dry_run:
        _rehearse(session, number, "apply")
        return
    _conclude(session, session.client.get(f"/imports/{number}"), apply=True, **how)


@imports.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@applying_options
@dry_run_option
def undo(session: Session, number: int, *, confirm: bool, wait: bool, timeout: int, dry_run: bool) -> None:
    """Undo an import that was published.

    Records that others have changed since then don't change.
    """
    if dry_run:
        _rehearse(session, number, "undo")
        return
    _act(session, number, "undo", confirm=confirm)
    job = follow(session, number)
    if wait and job["last_sequence"]:
        wait_for(session, job["last_sequence"], timeout)
    _show(session, job)


@imports.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
def cancel(session: Session, number: int) -> None:
    """Stop an import.

    Zones that were already published don't change.
    """
    _act(session, number, "cancel")
    _show(session, follow(session, number))


def follow(session: Session, number: int) -> Mapping[str, Any]:
    """Wait for the import's current step, and return the import. Raise Refused if it failed or is paused."""
    job: Mapping[str, Any] = session.client.get(f"/imports/{number}")
    session.way_on = f"The panel goes on with import {number}. To look at it: dnspanel imports show {number}"
    with progress(f"Import {number}") as line:
        while job["state"] in _ACTIVE and not job["paused"]:
            line.show(round(job["progress"]["percent"]), 100, f"% {_ACTIVE[job['state']]}")
            time.sleep(POLL_SECONDS)
            job = session.client.get(f"/imports/{number}")
    session.way_on = ""
    if job["paused"] or job["state"] == "failed":
        raise Refused({"code": "import-stopped", "detail": f"Import {number} stopped: {job['failure'] or 'paused'}"})
    return job


def _conclude(
    session: Session, job: Mapping[str, Any], *, apply: bool, confirm: bool, wait: bool, timeout: int
) -> None:
    """Publish the import if `apply` is True, and show the result. Exit with 1 if the import of a zone failed."""
    number = job["id"]
    _tell_faults(session, number)
    if apply:
        _act(session, number, "apply", confirm=confirm)
        job = follow(session, number)
        if wait and job["last_sequence"]:
            with suppress(TakenBack):  # the import's faults name the zones that were taken back
                wait_for(session, job["last_sequence"], timeout)
            failed, job = job["plan"]["failed"], session.client.get(f"/imports/{number}")
            if job["plan"]["failed"] > failed:
                _tell_faults(session, number, "taken-back")
    _show(session, job)
    if not apply:
        output.tell(f"To see the changes of each zone: {session.client.url}/imports/{number}/")
        output.tell(f"Nothing was written. To publish the import: dnspanel imports apply {number}")
    if (job["plan"] or {}).get("failed"):
        raise click.exceptions.Exit(Refused.exit_code)


def _act(session: Session, number: int, act: str, **told: Any) -> None:
    session.client.send("POST", f"/imports/{number}/{act}", told)


def _rehearse(session: Session, number: int, act: str) -> None:
    """Show the result of a dry run of `apply` or `undo`, and the reasons why the action needs a confirmation."""
    found = send_write(session, "POST", f"/imports/{number}/{act}", {}, dry_run=True)
    _show(session, found)
    if not session.is_json:
        for reason in found["reasons"]:
            output.tell(f"Needs --confirm: {reason}")
    output.tell("Nothing was written.")


def _tell_faults(session: Session, number: int, code: str = "") -> None:
    """Print the import's first errors, with file and line. If `code` is given, print only errors with this code."""
    of_kind = {"code": code} if code else {}
    page = session.client.get(f"/imports/{number}/faults", severity="error", limit=MOST_FAULTS, **of_kind)
    for fault in page["items"]:
        if session.is_json:
            output.tell_problem({"title": "Not imported", "detail": fault["reason"], **fault})
            continue
        place = f"{fault['path']}:{fault['line']}" if fault["line"] else fault["path"]
        output.tell(output.plain(f"{place}: {fault['reason']}"))
    if not session.is_json and any(fault["code"] in _OF_A_PART for fault in page["items"]):
        output.tell("If a file has only some RRsets of a zone that exists, use --existing rrsets.")
    if page["next_cursor"]:
        output.tell("… and more. The page of the import in the panel has them all.")


def _show(session: Session, job: Mapping[str, Any]) -> None:
    plan = job["plan"] or {}
    details = {"import": job["id"], "title": job["title"], "state": job["state"]}
    details |= {"zones": job["progress"]["zones"], "records": job["progress"]["records"]}
    details |= {name: plan[name] for name in _PLANNED if plan.get(name)}
    session.show(job, {**details, "published": job["progress"]["applied"]})
