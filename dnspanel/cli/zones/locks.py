"""The command `dnspanel locks`: manage locks. A lock blocks changes to a zone or records, except by its manager."""

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.zone_paths import zone_path

_LISTED = (
    Column("ID", "id", right=True),
    Column("LOCKED", lambda row: row["name"] or "the whole zone"),
    Column("TYPE", lambda row: row["type"] or ""),
    Column("LETS THROUGH", lambda row: row["manager"] or "nobody"),
    Column("WHY", "reason"),
    output.by("placed_by"),
    Column("SINCE", lambda row: output.moment(row["placed_at"])),
)


@click.group(cls=Commands)
def locks() -> None:
    """Manage the locks of a zone."""


@locks.command("list")
@click.argument("zone")
def list_locks(session: Session, zone: str) -> None:
    """List the locks of a zone."""
    session.show_rows(session.client.items(zone_path(zone, "locks")), _LISTED, none="No locks.")


@locks.command()
@click.argument("zone")
@click.argument("name", default="")
@click.argument("type_", metavar="TYPE", default="")
@click.option("--reason", required=True, help="Explanation for people who try to change the records.")
@click.option("--mine", is_flag=True, help="Let this token change the records; otherwise no one can.")
def add(session: Session, zone: str, name: str, type_: str, reason: str, *, mine: bool) -> None:
    """Lock a zone, a name or an RRset.

    Without NAME, the whole zone is locked. NAME @ is the apex.

    \b
    Examples:
      dnspanel locks add example.net --reason "Managed by Terraform" --mine
      dnspanel locks add example.net www A --reason "Ask the shop before"
    """
    body = {"name": name, "type": type_, "reason": reason, "mine": mine}
    made = session.client.send("POST", zone_path(zone, "locks"), body)
    session.show(made, {"id": made["id"], "lets through": made["manager"] or "nobody"})


@locks.command()
@click.argument("zone")
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
def lift(session: Session, zone: str, number: int) -> None:
    """Remove a lock."""
    session.client.send("DELETE", zone_path(zone, "locks", number))
    session.say_done(f"Lock {number} removed.", id=number, deleted=True)
