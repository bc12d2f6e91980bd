"""The command `dnspanel secondaries`: list name servers that transfer zones from the panel, and send them NOTIFY."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session

_LISTED = (
    Column("SECONDARY", "name"),
    Column("PROGRAM", "kind"),
    Column("ZONES", lambda row: row["tag"] or row["choice"]),
    Column("ACTIVE", lambda row: "yes" if row["active"] else "no"),
    Column("REFUSED", "refusals", right=True),
    Column("ADDRESS", lambda row: " ".join(row["addresses"])),
)
_ZONES = (
    Column("ZONE", "zone"),
    Column("SERIAL", "serial", right=True),
    Column("SERVED", "served_serial", right=True),
    Column("BEHIND SINCE", lambda row: output.moment(row["behind_since"])),
    Column("DIFFERS SINCE", lambda row: output.moment(row["differs_since"])),
    Column(
        "TRANSFERRED", lambda row: f"{row['transferred_how'].upper()} {output.moment(row['transferred_at'])}".strip()
    ),
)


@click.group(cls=Commands)
def secondaries() -> None:
    """Manage secondaries that transfer zones from the panel."""


@secondaries.command("list")
def list_secondaries(session: Session) -> None:
    """List the secondaries."""
    session.show_rows(session.client.items("/secondaries"), _LISTED, none="No secondaries.")


@secondaries.command("zones")
@click.argument("name")
@click.option("--behind", is_flag=True, help="Show only zones that are behind.")
def list_zones(session: Session, name: str, *, behind: bool) -> None:
    """List the zones of a secondary.

    Shows the serial at the secondary and the last transfer of each zone.
    """
    query = {"behind": "true"} if behind else {}
    rows = session.client.items(f"/secondaries/{_id_of(session, name)}/zones", **query)
    session.show_rows(rows, _ZONES, none="No zones.")


@secondaries.command()
@click.argument("name")
def notify(session: Session, name: str) -> None:
    """Send NOTIFY for every zone of a secondary."""
    found = session.client.send("POST", f"/secondaries/{_id_of(session, name)}/notify")
    session.show(found, {"name": found["name"], "NOTIFY": "on its way"})


def _id_of(session: Session, name: str) -> int:
    """Return the id of the secondary with this name. Raise Refused if no secondary has the name."""
    rows: Mapping[str, Any] = {row["name"]: row["id"] for row in session.client.items("/secondaries")}
    if name not in rows:
        raise Refused({"code": "not-found", "detail": f"There is no secondary {name}."})
    return int(rows[name])
