"""The command `dnspanel audit`, which lists people's actions."""

from itertools import islice
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.moments import Since
from dnspanel.cli.output import Column
from dnspanel.cli.session import Command, Session

_LISTED = (
    Column("AT", lambda row: output.moment(row["at"])),
    output.by(),
    Column("FROM", "address"),
    Column("ACT", "action"),
    Column("TARGET", "target"),
    Column("REASON", lambda row: row["details"].get("reason", "")),
    Column("REQUEST", "request_id"),
    Column("SESSION", lambda row: (row["session"] or "")[:8]),
)


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--user", help="Show only acts of this person and the tokens of this person.")
@click.option("--session", "in_session", help="Show only acts of this browser session: an id or the beginning.")
@click.option(
    "--action", help="Show only this kind of act, such as publish, token.create, or token. for all about tokens."
)
@click.option(
    "--since", type=Since(), help="Show only acts since then: 30m, 2h, 7d, or a time such as 2026-11-28T03:00."
)
@click.option(
    "--until", type=Since(), help="Show only acts before then: 30m, 2h, 7d, or a time such as 2026-11-28T03:00."
)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Show this many acts.")
def audit(session: Session, text: str | None, in_session: str | None, limit: int, **filters: Any) -> None:
    """List who did what, newest first.

    TEXT is the name of a zone, the id of a request, or part of the description. A token without the permission to read
    the audit log sees only its own actions.

    \b
    Examples:
      dnspanel audit example.net --since 7d
      dnspanel audit --user bob --since 2h --action publish
      dnspanel audit --action token. --since 2026-11-01 --until 2026-12-01 --limit 10000 --output json
    """
    rows = session.client.items("/audit", q=text, session=in_session, limit=min(limit, 1000), **filters)
    session.show_rows(islice(rows, limit), _LISTED, none="No acts.")
