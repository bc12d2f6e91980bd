"""`dnspanel audit`: who did what."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.moments import Since
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options

_LISTED = (
    Column("AT", lambda row: output.moment(row["at"])),
    output.by(),
    Column("FROM", "address"),
    Column("ACT", "action"),
    Column("TARGET", "target"),
    Column("REASON", lambda row: row["details"].get("reason", "")),
    Column("REQUEST", "request_id"),
)


@click.command()
@click.argument("text", required=False)
@click.option("--user", help="Only what this person, or their tokens, did.")
@click.option("--action", help="Such as token.create; token. for everything about tokens; publish for publications.")
@click.option("--since", type=Since(), help="From then on: 30m, 2h, 7d, or a time such as 2026-11-28T03:00.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="The newest so many.")
@shared_options
@pass_session
def audit(session: Session, text: str | None, limit: int, **filters: Any) -> None:
    """List who did what, the newest first; TEXT is a zone's name, a request's id, or a part of what an act says.

    A token without the permission to read the audit log sees only what it did itself.

    \b
    Examples:
      dnspanel audit example.net --since 7d
      dnspanel audit --user bob --since 2h --action publish
    """
    rows = session.client.get("/audit", q=text, limit=limit, **filters)["items"]
    session.show_rows(rows, _LISTED, none="No act.")
