"""`dnspanel records`: list, set, add, remove and delete; each a publication that loses nothing of what others write."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import C, Session, pass_session, shared_options
from dnspanel.cli.written import publish, show_plans, show_written, writing_options
from dnspanel.cli.zone_paths import segment, zone_path

DEFAULT_TTL = 3600

_LISTED = (
    Column("NAME", "name"),
    Column("TTL", "ttl", right=True),
    Column("TYPE", "type"),
    Column("VALUE", "value"),
    Column("", lambda row: "disabled" if row["disabled"] else ""),
)
_TTL = click.option("--ttl", type=click.IntRange(0, 2**31 - 1), help="Seconds.")


@click.group()
def records() -> None:
    """Records of a zone: list, set, add, remove, delete.

    NAME is relative to the zone, or absolute with a final dot; @ is the zone
    itself. A VALUE is written as in a zone file: "10 mail.example.net." for
    an MX. Put -- before values that begin with a minus.
    """


def changing_options(command: C) -> C:
    """Options of every command that changes records."""
    command = click.option("--ptr", is_flag=True, help="Change the PTRs of these addresses too, where they are yours.")(
        command
    )
    command = click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")(command)
    command = click.option("--confirm", is_flag=True, help="Do it though so much is deleted.")(command)
    return shared_options(writing_options(command))


@records.command("list")
@click.argument("zone")
@click.option("-q", "--search", help="As in the filter of the panel: text, and filters such as ttl:<300 or value:mail.")
@click.option("--name", help="One owner name.")
@click.option("--type", "type_", help="One type, or several with commas between them.")
@shared_options
@pass_session
def list_records(session: Session, zone: str, search: str | None, name: str | None, type_: str | None) -> None:
    """List the records of a zone.

    \b
    Examples:
      dnspanel records list example.net --type A,AAAA
      dnspanel records list example.net --output json
    """
    found = session.client.items(zone_path(zone, "rrsets"), q=search, name=name, type=type_, limit=1000)
    if session.is_json:
        output.show_json(list(found))
        return
    rows = [
        {**rrset, "value": value, "disabled": value in rrset["disabled"]} for rrset in found for value in rrset["rdata"]
    ]
    output.show_table(rows, _LISTED, none="No record.")


@records.command("set")
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@_TTL
@changing_options
@pass_session
def set_records(
    session: Session, zone: str, name: str, type: str, values: Sequence[str], ttl: int | None, **how: Any
) -> None:
    """Make these the records at NAME and TYPE, in place of all there may be.

    Without --ttl the present TTL stays; new records get 3600 s.

    \b
    Examples:
      dnspanel records set example.net www A 192.0.2.1 192.0.2.2 --ttl 300 --wait
      dnspanel records set example.net @ MX "10 mail.example.net." --dry-run
    """
    if ttl is None:
        ttl = _present_ttl(session, zone, name, type)
    _change(session, zone, {"op": "replace", "name": name, "type": type, "ttl": ttl, "rdata": list(values)}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@_TTL
@changing_options
@pass_session
def add(session: Session, zone: str, name: str, type: str, values: Sequence[str], ttl: int | None, **how: Any) -> None:
    """Add records at NAME and TYPE to those that are there.

    \b
    Example:
      dnspanel records add example.net _acme-challenge TXT '"token"' --wait
    """
    order: dict[str, Any] = {"op": "extend", "name": name, "type": type, "rdata": list(values)}
    _change(session, zone, order if ttl is None else {**order, "ttl": ttl}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@changing_options
@pass_session
def remove(session: Session, zone: str, name: str, type: str, values: Sequence[str], **how: Any) -> None:
    """Remove these records, and leave others at NAME and TYPE as they are."""
    _change(session, zone, {"op": "prune", "name": name, "type": type, "rdata": list(values)}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@changing_options
@pass_session
def delete(session: Session, zone: str, name: str, type: str, **how: Any) -> None:
    """Delete all records at NAME and TYPE."""
    _change(session, zone, {"op": "delete", "name": name, "type": type}, **how)


def _change(
    session: Session,
    zone: str,
    order: Mapping[str, Any],
    *,
    dry_run: bool,
    confirm: bool,
    ptr: bool,
    wait: bool,
    timeout: int,
    reason: str,
) -> None:
    path = zone_path(zone, "changes")
    body = {"changes": [order], "reason": reason, "confirm": confirm, **({"ptr": True} if ptr else {})}
    if dry_run:
        show_plans(session, session.client.send("POST", path, body, query={"dry_run": True}))
    else:
        show_written(session, publish(session, "POST", path, body, wait=wait, timeout=timeout), waited=wait)


def _present_ttl(session: Session, zone: str, name: str, type: str) -> int:
    try:
        return int(session.client.get(zone_path(zone, "rrsets", segment(name), segment(type)))["ttl"])
    except Refused as exc:
        if exc.code != "not-found":
            raise
        return DEFAULT_TTL
