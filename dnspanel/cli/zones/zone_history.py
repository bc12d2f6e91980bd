"""The commands `dnspanel zones history`, `dnspanel zones undo` and `dnspanel undo`."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Command, Session
from dnspanel.cli.written import Writing, confirm_option, publish, show_change, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path
from dnspanel.cli.zones.zone_restore import show_restored

_HISTORY = (
    Column("REVISION", "revision", right=True),
    Column("AT", lambda row: output.moment(row["at"])),
    output.by(),
    Column("VIA", "channel"),
    Column("ACT", "kind"),
    Column("ADDED", "added", right=True),
    Column("CHANGED", "changed", right=True),
    Column("REMOVED", "removed", right=True),
    Column("REASON", "reason"),
)


@click.command(cls=Command)
@click.argument("zone")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Show this many revisions.")
@click.option("--name", help="Show only changes at this owner name; @ is the apex.")
@click.option("--changes", is_flag=True, help="Show the changed records of each revision, with - and +.")
def history(session: Session, zone: str, limit: int, name: str | None, *, changes: bool) -> None:
    """List the revisions of a zone, newest first.

    \b
    Examples:
      dnspanel zones history example.net
      dnspanel zones history example.net --name www --changes
    """
    rows = session.client.get(zone_path(zone, "revisions"), limit=limit, name=name)["items"]
    if changes:
        paths = [zone_path(zone, "revisions", row["revision"]) for row in rows]
        rows = [
            {**row, "changes": _at_name(session.client.get(path), name)} for row, path in zip(rows, paths, strict=True)
        ]
    if session.is_json or not changes:
        session.show_rows(rows, _HISTORY, none="No revisions.")
        return
    if not rows:
        output.tell("No revisions.")
    for row in rows:
        reason = f": {row['reason']}" if row["reason"] else ""
        by = output.actor(row["actor"]) or "somebody"
        click.echo(f"{row['revision']}  {output.moment(row['at'])}  {by} ({row['channel']}) {row['kind']}{reason}")
        for change in row["changes"]:
            show_change(change)


def _at_name(revision: Mapping[str, Any], name: str | None) -> list[Mapping[str, Any]]:
    """Return the changes of a revision. If `name` is given, return only changes at this name."""
    changes: list[Mapping[str, Any]] = revision["changes"]
    if name is None:
        return changes
    zone = revision["zone"]
    full = zone if name == "@" else name.lower() if name.endswith(".") else f"{name.lower()}.{zone}"
    return [change for change in changes if change["name"] == full]


@click.command(cls=Command)
@click.argument("zone")
@click.argument("revision", type=click.IntRange(min=1))
@confirm_option
@writing_options
def undo(session: Session, zone: str, revision: int, *, confirm: bool, writing: Writing) -> None:
    """Undo one revision of a zone.

    Fails if others have changed the same records since then.

    \b
    Example:
      dnspanel zones history example.net
      dnspanel zones undo example.net 12 --dry-run
      dnspanel zones undo example.net 12
    """
    body = {"reason": writing.reason, "confirm": confirm}
    path = zone_path(zone, "revisions", revision, "undo")
    show_written(session, publish(session, "POST", path, body, waiting=writing), waited=writing.wait)


@click.command("undo", cls=Command)
@click.argument("sequence", type=click.IntRange(min=1))
@confirm_option
@writing_options
def undo_publication(session: Session, sequence: int, *, confirm: bool, writing: Writing) -> None:
    """Undo a publication in all its zones.

    Fails if others have changed the same records since then. Zones that the publication deleted are restored, or listed
    if they cannot be restored.

    \b
    Example:
      dnspanel publications list
      dnspanel undo 4711 --dry-run
      dnspanel undo 4711 --reason 'wrong list' --wait
    """
    body = {"reason": writing.reason, "confirm": confirm}
    path = f"/publications/{sequence}/undo"
    written = publish(session, "POST", path, body, waiting=writing)
    if "outcome" in written and not writing.dry_run:
        show_restored(session, written, waited=writing.wait)
    else:
        show_written(session, written, waited=writing.wait)
