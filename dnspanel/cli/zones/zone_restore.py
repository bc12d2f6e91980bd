"""The command `dnspanel zones restore`, which restores deleted zones."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.many import tell_others, tell_refusals
from dnspanel.cli.moments import Since
from dnspanel.cli.session import Command, Session
from dnspanel.cli.written import Writing, bare, publish, show_written, writing_options

_PATH = "/trash/restore"


@click.command(cls=Command)
@click.argument("names", metavar="[ZONE]...", nargs=-1)
@click.option("--publication", type=click.IntRange(min=1), help="Restore all zones that this publication deleted.")
@click.option(
    "--deleted-since", type=Since(), help="Restore all zones deleted since then: 30m, 2h, 7d, or 2026-11-28T03:00."
)
@click.option("-q", "--search", "q", help="Restore all zones in the trash that this search finds, such as tag:shop.")
@writing_options
def restore(session: Session, names: tuple[str, ...], *, writing: Writing, **which: Any) -> None:
    """Restore deleted zones.

    Up to 1,000 zones are restored in one publication. ZONE is a name, or an id in the trash if several deleted zones
    had that name. With -, the names are read from standard input, one per line. Zones that cannot be restored are
    listed, and the exit code is 1.

    \b
    Examples:
      dnspanel zones restore example.net
      dnspanel zones restore --publication 4711 --reason 'wrong list' --wait
      dnspanel zones restore --deleted-since 2h -q tag:shop --dry-run
      dnspanel zones restore - < zones.txt
    """
    given = {name: value for name, value in which.items() if value is not None}
    if bool(names) == bool(given):
        raise click.UsageError("Give zones, or at least one of --publication, --deleted-since and --search.")
    if names:
        given = {"ids": _ids(session, names)}
    if writing.dry_run:
        _show_preview(session, session.client.send("POST", _PATH, given, query={"dry_run": True}))
    elif len(given.get("ids", ())) == 1:  # so that a refusal has its own status and code
        path, query = f"/trash/{given['ids'][0]}/restore", {"reason": writing.reason} if writing.reason else {}
        show_written(session, publish(session, "POST", path, query=query, waiting=writing), waited=writing.wait)
    else:
        written = publish(session, "POST", _PATH, {**given, "reason": writing.reason}, waiting=writing)
        show_restored(session, written, waited=writing.wait)


def show_restored(session: Session, written: Mapping[str, Any], *, waited: bool) -> None:
    """Show the zones that were restored and those that were not. Exit with 1 if a zone was not restored."""
    outcome = written["outcome"]
    if session.is_json or written["publication"]:
        show_written(session, written, waited=waited)
    if not session.is_json:
        if len(written["publications"]) > 1:
            click.echo(f"In publications {', '.join(map(str, written['publications']))}.")
        click.echo(f"{output.count(outcome['changed'], 'zone')} restored, {outcome['unchanged']} existed already.")
        tell_refusals(outcome, _zone_of)
    if outcome["refused"]:
        raise click.exceptions.Exit(Refused.exit_code)


def tell_way_back(session: Session, written: Mapping[str, Any]) -> None:
    """Print the command that restores the deleted zones, and for how many days they can be restored."""
    if session.is_json or written["publication"] is None:
        return
    sequence, names = written["publication"]["sequence"], [zone["zone"] for zone in written["zones"]]
    deleted = next(
        (row for row in session.client.items("/trash", q=names[0] if names else "") if row["name"] in names), None
    )
    within = "" if deleted is None else f" within {output.count(_days(deleted), 'day')}"
    if len(names) == 1:
        click.echo(f"Restore it{within}: dnspanel zones restore {bare(names[0])}")
    else:
        click.echo(f"Restore them{within}: dnspanel zones restore --publication {sequence}")


def _days(deleted: Mapping[str, Any]) -> int:
    """Return the number of days that a deleted zone stays in the trash."""
    return (datetime.fromisoformat(deleted["gone_at"]) - datetime.fromisoformat(deleted["deleted_at"])).days


def _show_preview(session: Session, preview: Mapping[str, Any]) -> None:
    if session.is_json:
        output.show_json(preview)
        return
    zones, rrsets = output.count(preview["changed"], "zone"), output.count(preview["changed_rrsets"], "RRset")
    click.echo(f"{zones} with {rrsets} would be restored.")
    for name in preview["examples"]:
        click.echo(f"  {name}")
    tell_others(preview)
    tell_refusals(preview, _zone_of)
    output.tell("Nothing was written.")


def _ids(session: Session, typed: Iterable[str]) -> list[int]:
    """Return the trash ids for these names and ids. Raise Refused or UsageError if one is unknown or ambiguous."""
    wanted = list(dict.fromkeys(typed))
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    by_id: dict[str, int] = {}
    for row in session.client.items("/trash", limit=1000):
        by_name.setdefault(row["name"], []).append(row)
        by_id[str(row["id"])] = row["id"]
    ids: list[int] = []
    for text in wanted:
        found = by_name.get(text.lower().rstrip(".") + ".", [])
        if len(found) > 1:
            listed = ", ".join(f"{row['id']} (deleted {output.moment(row['deleted_at'])})" for row in found)
            raise click.UsageError(f"Several zones in the trash had the name {text}. Give one of the ids {listed}.")
        if not found and text not in by_id:
            raise Refused({"code": "not-found", "detail": f"There is no zone {text} in the trash."})
        ids.append(found[0]["id"] if found else by_id[text])
    return ids


def _zone_of(refusal: Mapping[str, Any]) -> str:
    return str(refusal["zone"])
