"""`dnspanel expiries`: RRsets that are removed by themselves."""

from datetime import UTC, datetime, timedelta

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.zone_paths import segment, zone_path

_LISTED = (
    Column("REMOVED", lambda row: output.moment(row["remove_at"])),
    Column("ZONE", "zone"),
    Column("NAME", "name"),
    Column("TYPE", "type"),
    output.by("set_by"),
    Column("STAYS BECAUSE", lambda row: row["refusal"] or ""),
)


@click.group()
def expiries() -> None:
    """Records that are removed by themselves: list, set, cancel."""


@expiries.command("list")
@click.option("--days", type=click.IntRange(0, 3660), help="Only what goes within so many days, or should have gone.")
@shared_options
@pass_session
def list_expiries(session: Session, days: int | None) -> None:
    """List what is removed by itself, the next one first."""
    query = {} if days is None else {"before": _in(timedelta(days=days))}
    session.show_rows(session.client.items("/expiries", **query), _LISTED, none="Nothing is removed by itself.")


@expiries.command("set")
@click.argument("zone")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@click.option("--days", type=click.IntRange(1, 3650), help="Removed after so many days.")
@click.option("--at", help="Removed at this time, such as 2027-01-31T18:00:00Z.")
@shared_options
@pass_session
def set_expiry(session: Session, zone: str, name: str, type_: str, days: int | None, at: str | None) -> None:
    """Have an RRset removed at a time.

    \b
    Examples:
      dnspanel expiries set example.net _acme-challenge TXT --days 7
    """
    if (days is None) == (at is None):
        raise click.UsageError("Say when: --days or --at.")
    body = {"remove_at": at if days is None else _in(timedelta(days=days))}
    made = session.client.send("PUT", _path(zone, name, type_), body)
    session.show(made, {"removed": output.moment(made["remove_at"])})


@expiries.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@shared_options
@pass_session
def cancel(session: Session, zone: str, name: str, type_: str) -> None:
    """Let an RRset stay."""
    session.client.send("DELETE", _path(zone, name, type_))
    session.done(f"{name} {type_.upper()} in {zone} stays.", zone=zone, name=name, type=type_.upper(), remove_at=None)


def _path(zone: str, name: str, type_: str) -> str:
    return zone_path(zone, "rrsets", segment(name), type_.upper(), "expiry")


def _in(span: timedelta) -> str:
    return (datetime.now(UTC) + span).isoformat(timespec="seconds")
