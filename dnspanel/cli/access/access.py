"""The command `dnspanel access`, which shows the rights of people and tokens in a zone."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.zone_paths import zone_path

_MAY = (
    Column("MAY", lambda row: ", ".join(row["rights"])),
    Column("BECAUSE", "because"),
    Column("NAMES", lambda row: " ".join(row["names"]) or "all"),
    Column("TYPES", lambda row: " ".join(row["types"]) or "all"),
)
_VERDICTS = (
    Column("RIGHT", "right"),
    Column("MAY", "allowed"),
    Column("BECAUSE", lambda row: "; ".join(each["words"] for each in row["because"])),
)
_ACTS = (
    Column("AT", lambda row: output.moment(row["at"])),
    Column("BY", "by"),
    Column("ACT", "action"),
    Column("ON", "target"),
)


@click.group(cls=Commands)
def access() -> None:
    """Show who can do what."""


@access.command()
@click.argument("zone")
@click.argument("name", required=False)
@click.argument("type", required=False)
def people(session: Session, zone: str, name: str | None, type: str | None) -> None:
    """List the people who can do something in a zone, and why.

    With NAME and TYPE, list the people who can do something with that record.
    """
    if (name is None) != (type is None):
        raise click.UsageError("Give NAME and TYPE, or neither.")
    _show(session, zone, "people", Column("PERSON", "username"), name=name, type=type)


@access.command()
@click.argument("who")
@click.argument("zone")
@click.argument("name", required=False)
@click.argument("type", required=False)
@click.option("--at", metavar="TIME", help="Time in the past to check, such as 2026-12-31T22:00:00Z.")
def may(session: Session, who: str, zone: str, name: str | None, type: str | None, at: str | None) -> None:
    """Check what a person can do in a zone, and why.

    With NAME and TYPE, check one record. With --at, check a time in the past.

    \b
    Example:
      dnspanel access may erin example.net www A --at 2026-12-31T22:00:00Z
    """
    if (name is None) != (type is None):
        raise click.UsageError("Give NAME and TYPE, or neither.")
    person = next(
        (each for each in session.client.items("/users") if _fold_case(each["username"]) == _fold_case(who)), None
    )
    if person is None:
        raise click.ClickException(f"No person {output.plain(who)} found.")
    found = session.client.get(f"/users/{person['id']}/rights", zone=zone, name=name, type=type, at=at)
    if session.is_json:
        output.show_json(found)
        return
    output.show_table(found["rights"], _VERDICTS, none="No rights.")
    if (since := found["since"]) is not None:
        output.tell(f"At {output.moment(since['at'])}: {output.plain(since['words'])}")
        output.show_table(since["acts"], _ACTS, none="")


@access.command()
@click.argument("zone")
def tokens(session: Session, zone: str) -> None:
    """List the tokens that can do something in a zone."""
    _show(
        session,
        zone,
        "tokens",
        Column("TOKEN", lambda row: row["token"]["purpose"]),
        Column("OWNER", lambda row: row["owned_by"]["user"]),
    )


def _show(session: Session, zone: str, what: str, *columns: Column, **query: str | None) -> None:
    """Show a table of the people or tokens with rights in a zone, with one line for each source of rights."""
    found: Sequence[Mapping[str, Any]] = list(session.client.items(zone_path(zone, "access", what), **query))
    rows = found if session.is_json else [{**each, **by} for each in found for by in each["by"]]
    session.show_rows(rows, (*columns, *_MAY), none="No one found.")


def _fold_case(name: str) -> str:
    """Convert A to Z in a user name to lowercase.

    Other letters stay unchanged, because folding them could turn one name into another.
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
