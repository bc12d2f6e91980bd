"""Writes: sent with `wait` or as a dry run, and their result as text."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.session import Session, options
from dnspanel.cli.waiting import DEFAULT_TIMEOUT, LONGEST_REQUEST, wait_for

_WAITING = (
    click.option("--wait", is_flag=True, help="Wait until every node answers with it."),
    click.option(
        "--timeout",
        type=click.IntRange(1, 86_400),
        default=DEFAULT_TIMEOUT,
        show_default=True,
        help="With --wait: seconds.",
    ),
)
_WRITING = (*_WAITING, click.option("--reason", default="", help="Why, for the history."))

# Options of every command that publishes.
writing_options = options(*_WRITING)
# Those of a command that publishes and takes no reason.
waiting_options = options(*_WAITING)


def publish(
    session: Session,
    method: str,
    path: str,
    body: Any = None,
    *,
    wait: bool,
    timeout: int,
    query: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """What was written, published and, if asked for, answered by every node. Raises Refused or Unreachable."""
    waiting = {"wait": min(timeout, LONGEST_REQUEST)} if wait else {}
    written: dict[str, Any] = session.client.send(method, path, body, query={**(query or {}), **waiting})
    publication = written["publication"]
    if wait and publication and not publication["everywhere"]:
        left = timeout - waiting["wait"]
        written["publication"] = wait_for(session, publication["sequence"], max(1, left))
    return written


def show_written(session: Session, written: Mapping[str, Any], *, waited: bool) -> None:
    """What a write came to: its publication, what moved, and warnings."""
    if session.is_json:
        output.show_json(written)
        return
    publication = written["publication"]
    if publication is None:
        output.tell("Everything was so already.")
        return
    for zone in written["zones"]:
        counts = [f"{zone[word]} {word}" for word in ("added", "changed", "removed") if zone[word]]
        click.echo(f"{zone['zone']} is at revision {zone['revision']}: {', '.join(counts) or 'no RRset changed'}.")
    for warning in written["warnings"]:
        output.tell(f"Warning: {warning['message']}")
    if waited:
        click.echo(f"Publication {publication['sequence']} is answered by all {publication['of']} nodes.")
    else:
        click.echo(f"Publication {publication['sequence']} is saved; `dnspanel wait` waits for the nodes.")


def show_plans(session: Session, answer: Mapping[str, Any]) -> None:
    """What would be published, line by line with - and +."""
    if session.is_json:
        output.show_json(answer)
        return
    show_changes_of(answer["plans"])
    output.tell("Nothing was written.")


def show_changes_of(plans: Iterable[Mapping[str, Any]]) -> None:
    """What these plans would do, with what is said against it."""
    for plan in plans:
        for change in plan["changes"]:
            show_change(change)
        for violation in plan["violations"]:
            output.tell(f"{violation['severity'].capitalize()}: {violation['message']}")
        for reason in plan["guard"]:
            output.tell(f"Needs --confirm: {reason}")
        if not plan["changes"]:
            output.tell(f"{plan['zone']}: everything is so already.")


def show_change(change: Mapping[str, Any]) -> None:
    """An RRset before and after, a line for each record."""
    for sign, rrset in (("-", change["before"]), ("+", change["after"])):
        for rdata in rrset["rdata"] if rrset else ():
            colour = "red" if sign == "-" else "green"
            off = "  ; disabled" if rdata in rrset["disabled"] else ""
            line = f"{sign} {rrset['name']} {rrset['ttl']} {rrset['type']} {output.plain(rdata)}{off}"
            click.secho(line, fg=colour)
