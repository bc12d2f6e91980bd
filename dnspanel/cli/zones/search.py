"""The command `dnspanel search`, which searches zones and records across the panel."""

from itertools import islice

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Command, Session

_LISTED = (
    Column("ZONE", "zone"),
    Column("NAME", lambda row: row["rrset"]["name"] if row["rrset"] else "(the zone)"),
    Column("TTL", lambda row: row["rrset"]["ttl"] if row["rrset"] else "", right=True),
    Column("TYPE", lambda row: row["rrset"]["type"] if row["rrset"] else ""),
    Column("VALUES", lambda row: row["rrset"]["rdata"] if row["rrset"] else ""),
    Column("WARNING", "complaint"),
)


@click.command(cls=Command)
@click.argument("text")
@click.option("--only", type=click.Choice(["zones", "records"]), help="Find only zones, or only records.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Show this many results.")
def search(session: Session, text: str, only: str | None, limit: int) -> None:
    """Find zones and records in all zones.

    TEXT uses the same syntax as the panel's search box: words and filters, such as type:mx, value:192.0.2.7 or
    has:warning.

    \b
    Examples:
      dnspanel search 192.0.2.7
      dnspanel search 'type:mx mail' --only records --output json
    """
    kind = {"zones": "zone", "records": "rrset", None: None}[only]
    found = list(islice(session.client.items("/search", q=text, kind=kind, limit=min(limit, 1000)), limit + 1))
    session.show_rows(found[:limit], _LISTED, none="No zones or records match.")
    if len(found) > limit:
        output.tell(f"There are more than {limit}: use --limit, or a narrower search.")
