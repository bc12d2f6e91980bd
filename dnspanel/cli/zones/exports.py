"""The command `dnspanel export`, which writes zones to a file or to standard output."""

import gzip
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, NoReturn, cast

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.passphrase import passphrase_in, passphrase_option
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Command, Session
from dnspanel.cli.zone_paths import zone_path

POLL_SECONDS = 0.5
_SUFFIXES = {"bind": "tar.gz", "json": "jsonl.gz", "csv": "csv.gz"}


@click.command(cls=Command)
@click.argument("zones", metavar="[ZONE]...", nargs=-1)
@click.option("--all", "all_", is_flag=True, help="Export all zones that the token can see.")
@click.option("-q", "--search", default="", help="Export all zones that this search finds.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(_SUFFIXES)),
    default="bind",
    show_default=True,
    help="Format of the export; bind are zone files, in an archive for several zones.",
)
@click.option(
    "-o",
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="File to write; - is standard output.",
)
@passphrase_option(
    "File with a passphrase (one line). Adds private DNSSEC keys to --format json, sealed under the passphrase."
)
def export(
    session: Session,
    zones: Sequence[str],
    *,
    all_: bool,
    search: str,
    format_: str,
    path: Path | None,
    keys_passphrase_file: Path | None,
) -> None:
    r"""Export zones as zone files, JSON or CSV.

    One ZONE is written to standard output without compression. Several zones, --search and --all write a compressed
    file. With --output json, the export of one ZONE is the member `content` of the result.

    \b Examples:
      dnspanel export example.net
      dnspanel export --all -o backup.tar.gz
      dnspanel export -q customer7 --format csv -o customer7.csv.gz
      dnspanel export --all --format json --keys-passphrase-file passphrase
    """
    if sum(map(bool, (zones, all_, search))) != 1:
        raise click.UsageError("Give zones, --search or --all, and only one of these.")
    if keys_passphrase_file and format_ != "json":
        raise click.UsageError(
            "--keys-passphrase-file needs --format json: only --format json can contain private keys."
        )
    as_text = len(zones) == 1
    if path is None:
        path = Path("-") if as_text else Path(f"zones.{_SUFFIXES[format_]}")
    if not as_text and str(path) == "-" and sys.stdout.isatty():
        raise click.UsageError("The export is compressed. Name a file with -o, or send the export to a program.")
    if not as_text and str(path) == "-" and session.is_json:
        raise click.UsageError("The export is compressed, and not JSON. Name a file with -o.")
    body: dict[str, Any] = {"format": format_, "zones": list(zones), "q": search}
    job = session.client.send("POST", "/exports", body | passphrase_in(keys_passphrase_file))
    job = _wait_for_export(session, job)
    if zones and job["zones_done"] < len(job["zones"]):
        _refuse_missing(session, job["zones"])
    with tempfile.TemporaryFile() as compressed:
        session.client.download(f"/exports/{job['id']}/file", compressed)
        compressed.seek(0)
        with _text(compressed, format_) if as_text else nullcontext(compressed) as content:
            if str(path) == "-" and session.is_json:
                output.show_json({**job, "content": content.read().decode()})
                return
            _write(content, path)
    session.way_on = ""
    if str(path) != "-":
        keys = {"keys": job["keys"]} if keys_passphrase_file else {}
        details = {"file": path, "zones": job["zones_done"], "records": job["records"], **keys}
        session.show({**job, "file": str(path)}, details)


def _wait_for_export(session: Session, job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Wait until the export is done and return it. Raise Refused if it fails."""
    session.way_on = "The export is not complete, and no file was written. Start it again with the same command."
    with progress("Exporting") as line:
        while job["state"] in {"waiting", "running"}:
            line.show(job["zones_done"], job["zones_total"], "zones")
            time.sleep(POLL_SECONDS)
            job = session.client.get(f"/exports/{job['id']}")
    if job["state"] != "done":
        raise Refused({"code": "export-failed", "detail": f"The export is {job['state']}: {job['failure']}"})
    return job


def _refuse_missing(session: Session, zones: Sequence[str]) -> NoReturn:
    """Raise Refused for the first zone that does not exist, or for an incomplete export if all zones exist."""
    session.way_on = ""
    for zone in zones:
        session.client.get(zone_path(zone))
    raise Refused({"code": "export-failed", "detail": "The export lacks some of the zones. Start it again."})


@contextmanager
def _text(compressed: IO[bytes], format_: str) -> Iterator[IO[bytes]]:
    """Open the uncompressed content of an export. For zone files, open the only file in the archive."""
    if format_ != "bind":
        yield cast(IO[bytes], gzip.GzipFile(fileobj=compressed))
        return
    with tarfile.open(fileobj=compressed, mode="r:gz") as archive:
        member = next(member for member in archive if member.name.endswith(".zone"))
        content = archive.extractfile(member)
        assert content is not None  # a zone file is a file
        yield content


def _write(content: IO[bytes], path: Path) -> None:
    """Write the content to a file (`-`: standard output). If this fails, raise UsageError and keep the old file."""
    if str(path) == "-":
        copyfileobj(content, sys.stdout.buffer)
        return
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            copyfileobj(content, file)
        partial.replace(path)
    except OSError as exc:
        partial.unlink(missing_ok=True)
        raise click.UsageError(f"{path} cannot be written: {exc.strerror}.") from exc
    output.tell(f"Wrote {path}.")
