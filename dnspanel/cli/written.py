"""Send requests that publish, optionally with a wait or as a dry run, and print their results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.session import Session, options_as
from dnspanel.cli.waiting import Waiting, timeout_option, wait_for

# A part of `writing_options`, and separate for commands that publish with a required reason.
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
_WAITING = (
    click.option("--wait", is_flag=True, help="Wait until every node answers with the change."),
    timeout_option("Stop waiting after this many seconds (with --wait)."),
)
_WRITING = (dry_run_option, *_WAITING, click.option("--reason", default="", help="Reason for the history."))


@dataclass(frozen=True, slots=True)
class Writing(Waiting):
    """The options of a command that publishes: the reason for the history, the wait, and the dry run."""

    reason: str = ""
    dry_run: bool = False


# The verbs for kinds of revisions. Every other kind is "Changed".
_VERBS = {"create": "Created", "delete": "Deleted", "restore": "Restored", "expire": "Stopped serving"}

# The options of commands that publish, passed as the argument `writing`.
writing_options = options_as("writing", Writing, *_WRITING)
# The options of commands that publish without a reason, passed as the argument `waiting`.
waiting_options = options_as("waiting", Waiting, *_WAITING)

# The option of commands that a guard can stop.
confirm_option = click.option("--confirm", is_flag=True, help="Confirm a change that deletes many records.")


def publish(
    session: Session,
    method: str,
    path: str,
    body: Any = None,
    *,
    waiting: Waiting,
    query: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Send a write and return the response. If `waiting.wait` is set, wait for the nodes.

    Raise the errors of `Client.send` and `wait_for`. The wait is a separate request, so the publication is known even
    if the wait is interrupted. In a dry run, nothing is written, and the response contains the plans.
    """
    is_dry_run = isinstance(waiting, Writing) and waiting.dry_run
    written: dict[str, Any] = send_write(session, method, path, body, dry_run=is_dry_run, query=query)
    if is_dry_run:
        return written
    publication = written["publication"]
    if waiting.wait and publication and not publication["everywhere"]:
        written["publication"] = wait_for(session, publication["sequence"], waiting.timeout)
    return written


def send_write(
    session: Session, method: str, path: str, body: Any = None, *, dry_run: bool, query: Mapping[str, Any] | None = None
) -> Any:
    """Send a write without waiting for nodes, and return the response. If `dry_run` is True, nothing is written."""
    return session.client.send(method, path, body, query={**(query or {}), "dry_run": True} if dry_run else query)


def show_written(session: Session, written: Mapping[str, Any], *, waited: bool, verb: str = "") -> None:
    """Show the result of a write: its publication, the changed zones, and warnings. Show the plans of a dry run.

    `verb` describes what happened to the zones. Without `verb`, each line shows the kind of the zone's revision.
    """
    if session.is_json:
        output.show_json(written)
        return
    if "plans" in written:
        _show_plans(written)
        return
    publication = written["publication"]
    if publication is None:
        click.echo("Nothing to change.")
        return
    kinds = {zone["kind"] for zone in publication["zones"]}
    kind_of = {zone["zone"]: zone["kind"] for zone in publication["zones"]}
    other = kinds.pop() if len(kinds) == 1 else "change"  # for the zones that the publication does not list
    for zone in written["zones"]:
        click.echo(_zone_line(zone, verb or _VERBS.get(kind_of.get(zone["zone"], other), "Changed")))
    for warning in written["warnings"]:
        output.tell(f"Warning: {warning['message']}")
    sequence = publication["sequence"]
    if publication["everywhere"]:
        click.echo(f"Publication {sequence} is answered by all {output.count(publication['of'], 'node')}.")
    elif waited:
        click.echo(f"Publication {sequence} is answered by {publication['reached']} of {publication['of']} nodes.")
    else:
        click.echo(f"Publication {sequence} is saved. To wait for the nodes: dnspanel wait {sequence}")


def _show_plans(answer: Mapping[str, Any]) -> None:
    """Show the changes that a dry run would publish, as lines with - and +, and the necessary confirmations."""
    show_changes_of(answer["plans"])
    of_zones = {reason for plan in answer["plans"] for reason in plan["guard"]}
    for reason in answer.get("reasons", ()):
        if reason not in of_zones:
            output.tell(f"Needs --confirm: {reason}")
    for refusal in answer.get("refusals", ()):
        output.tell(f"{refusal['zone']}: {refusal['reason']}")
    output.tell("Nothing was written.")


def _zone_line(zone: Mapping[str, Any], verb: str) -> str:
    counts = ", ".join(f"{zone[word]} {word}" for word in ("added", "changed", "removed") if zone[word])
    line = f"{verb} {bare(zone['zone'])} (revision {zone['revision']})"
    return f"{line}: {counts}." if counts else f"{line}."


def bare(name: str) -> str:
    """Return a zone's name without its trailing dot, for messages."""
    return output.plain(name.rstrip(".") or name)


def show_changes_of(plans: Iterable[Mapping[str, Any]]) -> None:
    """Show the changes in these plans, with warnings, errors and reasons to confirm."""
    for plan in plans:
        if plan["kind"] != "change":
            click.echo(f"{plan['zone']}: {plan['kind']}")
        for change in plan["changes"]:
            show_change(change)
        for violation in plan["violations"]:
            output.tell(f"{violation['severity'].capitalize()}: {violation['message']}")
        for reason in plan["guard"]:
            output.tell(f"Needs --confirm: {reason}")
        if not plan["changes"] and plan["kind"] == "change":
            output.tell(f"{plan['zone']}: nothing to change.")


def show_change(change: Mapping[str, Any]) -> None:
    """Show an RRset before and after a change, with a line for each record."""
    for sign, rrset in (("-", change["before"]), ("+", change["after"])):
        for rdata in rrset["rdata"] if rrset else ():
            colour = "red" if sign == "-" else "green"
            off = "  ; disabled" if rdata in rrset["disabled"] else ""
            line = f"{sign} {rrset['name']} {rrset['ttl']} {rrset['type']} {output.plain(rdata)}{off}"
            click.secho(line, fg=colour)
