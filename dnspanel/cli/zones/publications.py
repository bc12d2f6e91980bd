"""The command `dnspanel publications`: list, show and watch publications."""

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.waiting import details_of
from dnspanel.cli.zones.zone_history import undo_publication

_LISTED = (
    Column("SEQUENCE", "sequence", right=True),
    Column("AT", lambda row: output.moment(row["at"])),
    output.by(),
    Column("VIA", "channel"),
    Column("PART OF", "part_of", right=True),
    Column("ZONES", lambda row: _zones(row)),
    Column("REASON", "reason"),
)
_ZONES = (
    Column("ZONE", "zone"),
    Column("REVISION", "revision", right=True),
    Column("SERIAL", "serial", right=True),
    Column("ACT", "kind"),
)
# The number of zone names that fit on a line.
_MOST_NAMED = 3
# The longest time that the panel holds a request for new publications.
_FEED_SECONDS = 30
_PAUSE_SECONDS = 2.0


@click.group(cls=Commands)
def publications() -> None:
    """List, show and watch publications."""


@publications.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show this many publications.")
@click.option("--after", type=click.IntRange(min=0), help="Show publications after this sequence, oldest first.")
def list_publications(session: Session, limit: int, after: int | None) -> None:
    """List publications with their zones, newest first.

    \b
    Examples:
      dnspanel publications list
      dnspanel publications list --after 4711 --limit 1000 --output json
    """
    query: dict[str, Any] = {} if after is None else {"after": after, "order": "asc"}
    found = session.client.items("/publications", expand="zones", limit=min(limit, 1000), **query)
    session.show_rows(islice(found, limit), _LISTED, none="No publications.")


@publications.command()
@click.argument("sequence", type=click.IntRange(min=1))
def show(session: Session, sequence: int) -> None:
    """Show a publication, its zones, and the state of the nodes."""
    found = session.client.get(f"/publications/{sequence}")
    zones = list(session.client.items(f"/publications/{sequence}/zones", limit=1000))
    if session.is_json:
        output.show_json({**found, "zones": zones})
        return
    taken_back = found["taken_back"]
    details = {
        **details_of(found),
        "by": output.actor(found["actor"]),
        "via": found["channel"],
        "reason": found["reason"] or None,
        "part of": found["part_of"],
        "taken back because": taken_back["reason"] if taken_back else None,
    }
    output.show_details({name: value for name, value in details.items() if value is not None})
    output.show_table(zones, _ZONES, none="No zones that you can see.")
    for each in found["shadowed"]:
        output.tell(
            f"Not answered: {each['name']} {each['type']} of {each['zone']}, since {each['answering_zone']} answers."
        )


@publications.command()
@click.option("--after", type=click.IntRange(min=0), help="Begin after this sequence.  [default: with the newest]")
@click.option("--count", type=click.IntRange(min=1), help="Stop after this many publications.")
def watch(session: Session, after: int | None, count: int | None) -> None:
    """Print each publication as soon as it is saved.

    Runs until Ctrl-C and prints every publication. With --output json, each publication is one line with its zones.

    \b
    Examples:
      dnspanel publications watch
      dnspanel publications watch --after 4711 --output json
    """
    for row in islice(_follow_publications(session, after), count):
        if session.is_json:
            output.show_json_line(row)
        else:
            by = output.actor(row["actor"])
            reason = f": {output.plain(row['reason'])}" if row["reason"] else ""
            zones = output.plain(_zones(row))
            click.echo(f"{row['sequence']}  {output.moment(row['at'])}  {by} ({row['channel']})  {zones}{reason}")


publications.add_command(undo_publication)


def _follow_publications(session: Session, after: int | None) -> Iterator[Mapping[str, Any]]:
    """Yield publications endlessly, in sequence order: those after `after`, or the newest and all later ones."""
    newest = session.client.get("/publications", limit=1)
    epoch, after = newest["epoch"], max(0, _newest(newest) - 1) if after is None else after
    while True:
        began = time.monotonic()
        page = session.client.get("/publications", order="asc", after=after, expand="zones", wait=_FEED_SECONDS)
        if epoch is not None and page["epoch"] != epoch:  # sequences restart where the backup ended
            output.tell("The panel was restored from a backup. Publications after the backup are listed from here on.")
            newest = session.client.get("/publications", limit=1)
            epoch, after = newest["epoch"], _newest(newest)
            continue
        yield from page["items"]
        epoch, after = page["epoch"], page["up_to"]
        if not page["items"] and time.monotonic() - began < _PAUSE_SECONDS:  # the panel has too many waiting requests
            time.sleep(_PAUSE_SECONDS)


def _newest(page: Mapping[str, Any]) -> int:
    """Return the sequence of the newest publication, or 0 if there are no publications."""
    return int(page["items"][0]["sequence"]) if page["items"] else 0


def _zones(row: Mapping[str, Any]) -> str:
    """Join the names of a publication's first zones, and add "and N more" for the rest."""
    names = [zone["zone"] for zone in row["zones"]]
    first = " ".join(names[:_MOST_NAMED])
    if row["more_zones"]:
        return f"{first} and {len(names) - _MOST_NAMED} or more others"
    return f"{first} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else first
