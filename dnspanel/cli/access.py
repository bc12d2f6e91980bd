"""`dnspanel access`: who may do what in a zone, and grants."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
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


@click.group()
def access() -> None:
    """Who may do what: people, tokens; grants: list, give, take."""


@access.command()
@click.argument("zone")
@click.argument("name", required=False)
@click.argument("type", required=False)
@shared_options
@pass_session
def people(session: Session, zone: str, name: str | None, type: str | None) -> None:
    """List the people who may do something in a zone, or with a record of it, and why."""
    if (name is None) != (type is None):
        raise click.UsageError("Give name and type, or neither.")
    _show(session, zone, "people", Column("PERSON", "username"), name=name, type=type)


@access.command()
@click.argument("who")
@click.argument("zone")
@click.argument("name", required=False)
@click.argument("type", required=False)
@click.option("--at", metavar="TIME", help="Whether it was so at a time that is past, such as 2026-12-31T22:00:00Z.")
@shared_options
@pass_session
def may(session: Session, who: str, zone: str, name: str | None, type: str | None, at: str | None) -> None:
    """Say what a person may do in a zone, or with a record of it, and why; or may have done at a time.

    \b
    Example:
      dnspanel access may erin example.net www A --at 2026-12-31T22:00:00Z
    """
    if (name is None) != (type is None):
        raise click.UsageError("Give name and type, or neither.")
    person = next((each for each in session.client.items("/users") if _folded(each["username"]) == _folded(who)), None)
    if person is None:
        raise click.ClickException(f"You know no person {output.plain(who)}.")
    found = session.client.get(f"/users/{person['id']}/rights", zone=zone, name=name, type=type, at=at)
    if session.is_json:
        output.show_json(found)
        return
    output.show_table(found["rights"], _VERDICTS, none="Nothing.")
    if (since := found["since"]) is not None:
        output.tell(f"At {output.moment(since['at'])}: {output.plain(since['words'])}")
        output.show_table(since["acts"], _ACTS, none="")


@access.command()
@click.argument("zone")
@shared_options
@pass_session
def tokens(session: Session, zone: str) -> None:
    """List the tokens that may do something in a zone."""
    _show(
        session,
        zone,
        "tokens",
        Column("TOKEN", lambda row: row["token"]["purpose"]),
        Column("OWNER", lambda row: row["owned_by"]["user"]),
    )


@access.command()
@click.option("--user", type=_ID, help="Of this person: an id.")
@click.option("--team", type=_ID, help="Of this team: an id.")
@shared_options
@pass_session
def grants(session: Session, user: int | None, team: int | None) -> None:
    """List grants."""
    session.show_rows(session.client.items("/grants", user=user, team=team), _GRANTS, none="No grant.")


@access.command()
@click.option("--user", type=_ID, help="To this person: an id.")
@click.option("--team", type=_ID, help="To everybody in this team: an id.")
@click.option("--right", "rights", multiple=True, required=True, help="read, add, change, remove …; once for each.")
@click.option("--everywhere", is_flag=True, help="Over all zones.")
@click.option("--zone", "zones", multiple=True, help="Over this zone; once for each.")
@click.option("--tag", "tags", multiple=True, help="Over zones with this tag; once for each.")
@click.option("--of-team", "teams", multiple=True, type=_ID, help="Over zones of this team: an id; once for each.")
@click.option("--name", "names", multiple=True, help="Only these owner names, with * for anything; once for each.")
@click.option("--type", "types", multiple=True, help="Only these types; once for each.")
@shared_options
@pass_session
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
@shared_options
@pass_session
def take(session: Session, number: int) -> None:
    """Take a grant back."""
    session.client.send("DELETE", f"/grants/{number}")
    session.done(f"Grant {number} deleted.", id=number, deleted=True)


def _show(session: Session, zone: str, what: str, *columns: Column, **query: str | None) -> None:
    """Those of a zone: as JSON as they are, as a table a line for each reason."""
    found: Sequence[Mapping[str, Any]] = list(session.client.items(zone_path(zone, "access", what), **query))
    rows = found if session.is_json else [{**each, **by} for each in found for by in each["by"]]
    session.show_rows(rows, (*columns, *_MAY), none="Nobody that you may know.")


def _folded(name: str) -> str:
    """Return a user name with its letters A to Z as small ones; others are not folded, or one name could be another."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _where(grant: Mapping[str, Any]) -> str:
    if grant["everywhere"]:
        return "everywhere"
    parts = [*grant["zones"], *(f"tag {tag}" for tag in grant["tags"]), *(f"team {pk}" for pk in grant["teams"])]
    hidden = grant["zones_hidden"]
    return " ".join([*parts, *([f"and {hidden} zones that you may not see"] if hidden else [])])
