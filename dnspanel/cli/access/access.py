"""The command `dnspanel access`, which shows people's rights in a zone, and manages grants."""

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
_GRANTS = (
    Column("ID", "id", right=True),
    Column("TO", lambda row: f"team {row['team']}" if row["user"] is None else f"user {row['user']}"),
    Column("MAY", lambda row: ", ".join(row["rights"])),
    Column("WHERE", lambda row: _where(row)),
    Column("NAMES", lambda row: " ".join(row["names"]) or "all"),
    Column("TYPES", lambda row: " ".join(row["types"]) or "all"),
    output.by("created_by"),
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
_ID = click.IntRange(min=1)


@click.group(cls=Commands)
def access() -> None:
    """Show and change who can do what."""


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


@access.command()
@click.option("--user", type=_ID, help="Show only grants to the person with this id.")
@click.option("--team", type=_ID, help="Show only grants to the team with this id.")
def grants(session: Session, user: int | None, team: int | None) -> None:
    """List grants of rights."""
    session.show_rows(session.client.items("/grants", user=user, team=team), _GRANTS, none="No grants.")


@access.command()
@click.option("--user", type=_ID, help="Id of the person who gets the rights.")
@click.option("--team", type=_ID, help="Id of the team that gets the rights.")
@click.option(
    "--right",
    "rights",
    multiple=True,
    required=True,
    help="Right to give, such as read, add, change or remove. Repeat for several.",
)
@click.option("--everywhere", is_flag=True, help="Give the rights on all zones.")
@click.option("--zone", "zones", multiple=True, help="Give the rights on this zone. Repeat for several.")
@click.option("--tag", "tags", multiple=True, help="Give the rights on zones with this tag. Repeat for several.")
@click.option(
    "--of-team",
    "teams",
    multiple=True,
    type=_ID,
    help="Give the rights on zones of the team with this id. Repeat for several.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="Limit the rights to this owner name, with * for any text. Repeat for several.",
)
@click.option("--type", "types", multiple=True, help="Limit the rights to this record type. Repeat for several.")
def give(session: Session, user: int | None, team: int | None, **scope: Any) -> None:
    """Give rights to a person or a team.

    \b
    Example:
      dnspanel access give --user 7 --right read --right change --zone example.net --name www --type A
    """
    if (user is None) == (team is None):
        raise click.UsageError("Give --user, or --team.")
    body = {name: list(value) if isinstance(value, tuple) else value for name, value in scope.items()}
    made = session.client.send("POST", "/grants", {**body, "user": user, "team": team})
    session.show(made, {"id": made["id"], "may": ", ".join(made["rights"]), "where": _where(made)})


@access.command()
@click.argument("number", metavar="ID", type=_ID)
def take(session: Session, number: int) -> None:
    """Delete a grant."""
    session.client.send("DELETE", f"/grants/{number}")
    session.say_done(f"Grant {number} deleted.", id=number, deleted=True)


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


def _where(grant: Mapping[str, Any]) -> str:
    if grant["everywhere"]:
        return "everywhere"
    parts = [*grant["zones"], *(f"tag {tag}" for tag in grant["tags"]), *(f"team {pk}" for pk in grant["teams"])]
    hidden = grant["zones_hidden"]
    return " ".join([*parts, *([f"and {hidden} zones that you may not see"] if hidden else [])])
