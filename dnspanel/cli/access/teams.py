"""The command `dnspanel teams`, which lists teams and manages their quotas."""

from collections.abc import Sequence

import click

from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session

_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("MEMBERS", lambda row: " ".join(each["username"] for each in row["members"])),
)
_QUOTAS = (
    Column("KIND", "kind"),
    Column("USED", lambda row: "" if row["used"] is None else row["used"], right=True),
    Column("LIMIT", lambda row: "unlimited" if row["limit"] is None else row["limit"], right=True),
    Column("", lambda row: "little is left" if row["near"] else ""),
)


@click.group(cls=Commands)
def teams() -> None:
    """Manage teams and their quotas.

    TEAM is a name or an id.
    """


@teams.command("list")
def list_teams(session: Session) -> None:
    """List the teams."""
    session.show_rows(session.client.items("/teams"), _LISTED, none="No teams.")


@teams.command()
@click.argument("team")
@click.argument("limits", metavar="[KIND=LIMIT...]", nargs=-1)
def quotas(session: Session, team: str, limits: Sequence[str]) -> None:
    """Show or set the quotas of a team.

    A limit is a number (in bytes for `bytes`), or unlimited. Kinds that are not given get the default limit.

    \b
    Examples:
      dnspanel teams quotas Web
      dnspanel teams quotas Web zones=1000 rrsets=unlimited
    """
    path = f"/teams/{session.find_one('/teams', team, 'team')['id']}/quotas"
    if limits:
        found = session.client.send("PUT", path, {"limits": dict(map(_limit, limits))})
    else:
        found = session.client.get(path)
    session.show_rows(found["quotas"], _QUOTAS, none="No quotas.")


def _limit(text: str) -> tuple[str, int | None]:
    kind, sign, amount = text.partition("=")
    if not sign or not (amount == "unlimited" or (amount.isascii() and amount.isdigit())):
        raise click.UsageError(f"{text} is not a valid limit. Examples: zones=1000, zones=unlimited.")
    return kind, None if amount == "unlimited" else int(amount)
