"""The command `dnspanel directories`, which manages the directories that create and change accounts over SCIM."""

from collections.abc import Sequence
from typing import Any

import click

from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options

_ROLES = click.Choice(["reader", "member", "editor", "administrator"])
_TEAM_ROLES = click.Choice(["reader", "editor"])
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("ACCOUNT", "account"),
    Column("RULES", lambda row: len(row["rules"]), right=True),
    Column("OTHER GROUPS", lambda row: f"teams of {row['team_role']}s" if row["team_role"] else "nothing"),
    Column("TAKES OVER", "takes_over"),
    Column("CALLS", "url"),
)
_number = click.argument("number", metavar="ID", type=click.IntRange(min=1))


# The settings of a directory. Omitted options keep their value, or get the default in a new directory.
_terms = options(
    click.option(
        "--rule",
        "rules",
        multiple=True,
        type=(str, _ROLES),
        metavar="GROUP ROLE",
        help="Role for members of a group. Repeat for several.",
    ),
    click.option(
        "--team-rule",
        "team_rules",
        multiple=True,
        type=(str, _TEAM_ROLES, click.IntRange(min=1)),
        metavar="GROUP ROLE TEAM",
        help="Role for members of a group in the team with this id. Repeat for several.",
    ),
    click.option(
        "--team-role",
        type=click.Choice(["none", "reader", "editor"]),
        help="Role for members of groups without a rule, in the team with the name of the group.",
    ),
    click.option(
        "--team",
        "teams",
        multiple=True,
        type=click.IntRange(min=0),
        metavar="ID",
        help="Id of an existing team that a group of the same name can fill; 0 for none. Repeat for several.",
    ),
    click.option(
        "--takes-over/--takes-nobody-over",
        default=None,
        help="Let the directory manage accounts that exist already, or not.",
    ),
)


@click.group(cls=Commands)
def directories() -> None:
    """Manage directories that provision accounts over SCIM."""


@directories.command("list")
def list_directories(session: Session) -> None:
    """List the directories."""
    session.show_rows(session.client.items("/scim-directories"), _LISTED, none="No directories.")


@directories.command()
@click.argument("name")
@_terms
def add(session: Session, name: str, **terms: Any) -> None:
    """Add a directory and print its secret once.

    \b
    Example:
      dnspanel directories add Okta --rule dns-admins administrator --team-rule web editor 3
    """
    made = session.client.send("POST", "/scim-directories", {"name": name, **_body_of_options(**terms)})
    session.show(made, {"id": made["id"], "calls": made["url"], "secret": made["secret"]})


@directories.command()
@_number
@click.option("--name", help="New name of the directory.")
@click.option("--no-rules", is_flag=True, help="Remove all rules of the directory.")
@_terms
def change(session: Session, number: int, name: str | None, *, no_rules: bool, **terms: Any) -> None:
    """Change a directory.

    New rules replace all current rules.
    """
    given = _body_of_options(**terms)
    if name is not None:
        given["name"] = name
    if no_rules:
        given["rules"] = []
    if not given:
        raise click.UsageError("Give at least one option to change.")
    changed = session.client.send("PATCH", f"/scim-directories/{number}", given)
    session.show(changed, {"id": changed["id"], "name": changed["name"], "rules": len(changed["rules"])})


@directories.command()
@_number
def rotate(session: Session, number: int) -> None:
    """Create a new secret for a directory and print it once.

    The old secret stops working at once.
    """
    made = session.client.send("POST", f"/scim-directories/{number}/rotate")
    session.show(made, {"id": number, "secret": made["secret"]})


@directories.command()
@_number
def end(session: Session, number: int) -> None:
    """Delete a directory.

    The directory, its secret and the rights that its rules granted are deleted. Accounts stay.
    """
    session.client.send("DELETE", f"/scim-directories/{number}")
    session.say_done(f"Directory {number} deleted. The accounts stay.", id=number, deleted=True)


def _body_of_options(
    rules: Sequence[tuple[str, str]],
    team_rules: Sequence[tuple[str, str, int]],
    team_role: str | None,
    teams: Sequence[int],
    *,
    takes_over: bool | None,
) -> dict[str, Any]:
    """Return the request body for these options. Omit options that are not given."""
    listed = [{"group": group, "role": role} for group, role in rules]
    listed_in_teams = [{"group": group, "role": role, "team": team} for group, role, team in team_rules]
    given: dict[str, Any] = {}
    if listed or listed_in_teams:
        given["rules"] = [*listed, *listed_in_teams]
    if team_role is not None:
        given["team_role"] = "" if team_role == "none" else team_role
    if teams:
        given["teams"] = [pk for pk in teams if pk]
    if takes_over is not None:
        given["takes_over"] = takes_over
    return given
