"""`dnspanel directories`: directories that keep people in the panel over SCIM."""

from collections.abc import Sequence
from typing import Any

import click

from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, options, pass_session, shared_options

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


# The options of what a directory is like; those that are left out stay as they are, or have their default.
_terms = options(
    click.option(
        "--rule", "rules", multiple=True, type=(str, _ROLES), metavar="GROUP ROLE", help="What a group gives."
    ),
    click.option(
        "--team-rule",
        "team_rules",
        multiple=True,
        type=(str, _TEAM_ROLES, click.IntRange(min=1)),
        metavar="GROUP ROLE TEAM",
        help="What a group gives in the team with this id.",
    ),
    click.option(
        "--team-role",
        type=click.Choice(["none", "reader", "editor"]),
        help="What members of a group without a rule are in the team of its name.",
    ),
    click.option(
        "--team",
        "teams",
        multiple=True,
        type=click.IntRange(min=0),
        metavar="ID",
        help="A team that was here before, and that a group of its name may be; 0 for none.",
    ),
    click.option("--takes-over/--takes-nobody-over", default=None, help="Whether it may keep accounts of others."),
)


@click.group()
def directories() -> None:
    """Directories that keep people here over SCIM: list, add, change, new secret, end."""


@directories.command("list")
@shared_options
@pass_session
def list_directories(session: Session) -> None:
    """List the directories."""
    session.show_rows(session.client.items("/scim-directories"), _LISTED, none="No directory.")


@directories.command()
@click.argument("name")
@_terms
@shared_options
@pass_session
def add(session: Session, name: str, **terms: Any) -> None:
    """Add a directory; its secret is shown this once.

    \b
    Example:
      dnspanel directories add Okta --rule dns-admins administrator --team-rule web editor 3
    """
    made = session.client.send("POST", "/scim-directories", {"name": name, **_given(**terms)})
    session.show(made, {"id": made["id"], "calls": made["url"], "secret": made["secret"]})


@directories.command()
@_number
@click.option("--name", help="What it is called.")
@click.option("--no-rules", is_flag=True, help="No group gives anything by a rule.")
@_terms
@shared_options
@pass_session
def change(session: Session, number: int, name: str | None, no_rules: bool, **terms: Any) -> None:
    """Change a directory; rules that are given stand in place of those of before."""
    given = _given(**terms)
    if name is not None:
        given["name"] = name
    if no_rules:
        given["rules"] = []
    if not given:
        raise click.UsageError("Say what changes.")
    changed = session.client.send("PATCH", f"/scim-directories/{number}", given)
    session.show(changed, {"id": changed["id"], "name": changed["name"], "rules": len(changed["rules"])})


@directories.command()
@_number
@shared_options
@pass_session
def rotate(session: Session, number: int) -> None:
    """Make a new secret, which is shown this once; the one of before opens nothing."""
    made = session.client.send("POST", f"/scim-directories/{number}/rotate")
    session.show(made, {"id": number, "secret": made["secret"]})


@directories.command()
@_number
@shared_options
@pass_session
def end(session: Session, number: int) -> None:
    """End a directory, with its secret and what its rules gave; accounts stay as they are."""
    session.client.send("DELETE", f"/scim-directories/{number}")
    session.done(f"Directory {number} deleted. The accounts stay.", id=number, deleted=True)


def _given(
    rules: Sequence[tuple[str, str]],
    team_rules: Sequence[tuple[str, str, int]],
    team_role: str | None,
    teams: Sequence[int],
    takes_over: bool | None,
) -> dict[str, Any]:
    """The members of a body that these options say."""
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
