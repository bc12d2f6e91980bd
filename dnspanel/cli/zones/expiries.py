"""The command `dnspanel expiries`: set and cancel times at which RRsets are removed automatically."""

from datetime import UTC, datetime, timedelta

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.zone_paths import segment, zone_path

_LISTED = (
    Column("REMOVED", lambda row: output.moment(row["remove_at"])),
    Column("ZONE", "zone"),
    Column("NAME", "name"),
    Column("TYPE", "type"),
    output.by("set_by"),
    Column("STAYS BECAUSE", lambda row: row["refusal"] or ""),
)


@click.group(cls=Commands)
def expiries() -> None:
    """Manage records that expire."""


@expiries.command("list")
@click.option(
    "--days", type=click.IntRange(0, 3660), help="Show only records that expire within this many days, or are overdue."
)
def list_expiries(session: Session, days: int | None) -> None:
    """List records that expire, in order of their expiry."""
    query = {} if days is None else {"before": _in(timedelta(days=days))}
    session.show_rows(session.client.items("/expiries", **query), _LISTED, none="No records expire.")


@expiries.command("set")
@click.argument("zone")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@click.option("--days", type=click.IntRange(1, 3650), help="Remove the records after this many days.")
@click.option("--at", help="Remove the records at this time, such as 2027-01-31T18:00:00Z.")
def set_expiry(session: Session, zone: str, name: str, type_: str, days: int | None, at: str | None) -> None:
    """Set the time at which records are removed.

    \b
    Examples:
      dnspanel expiries set example.net _acme-challenge TXT --days 7
    """
    if (days is None) == (at is None):
        raise click.UsageError("Give --days or --at.")
    body = {"remove_at": at if days is None else _in(timedelta(days=days))}
    made = session.client.send("PUT", _path(zone, name, type_), body)
    session.show(made, {"removed": output.moment(made["remove_at"])})


@expiries.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
def cancel(session: Session, zone: str, name: str, type_: str) -> None:
    """Cancel the expiry of records."""
    session.client.send("DELETE", _path(zone, name, type_))
    session.say_done(
        f"{name} {type_.upper()} in {zone} stays.", zone=zone, name=name, type=type_.upper(), remove_at=None
    )


def _path(zone: str, name: str, type_: str) -> str:
    return zone_path(zone, "rrsets", segment(name), type_.upper(), "expiry")


def _in(span: timedelta) -> str:
    return (datetime.now(UTC) + span).isoformat(timespec="seconds")
