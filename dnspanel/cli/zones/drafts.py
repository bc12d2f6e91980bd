"""The command `dnspanel drafts`: collect changes and publish them together."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.durations import Ttl
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.written import Writing, confirm_option, show_changes_of, show_written, writing_options
from dnspanel.cli.written import publish as send_and_wait
from dnspanel.cli.zone_paths import segment, zone_path
from dnspanel.cli.zones.records import present_ttl

_LISTED = (
    Column("KEY", "key"),
    Column("NAME", "name"),
    Column("OWNER", lambda row: output.actor(row["owned_by"])),
    Column("HELD BY", lambda row: output.actor(row["held_by"])),
    Column("CHANGES", "operations", right=True),
    Column("ZONES", "zones", right=True),
    Column("CHANGED", lambda row: output.moment(row["changed_at"])),
)
_key = click.argument("key", metavar="[KEY]", required=False)


@click.group(cls=Commands)
def drafts() -> None:
    """Manage drafts: your current one, and saved ones by KEY."""


@drafts.command("list")
def list_drafts(session: Session) -> None:
    """List the saved drafts that this token can see."""
    session.show_rows(session.client.items("/drafts"), _LISTED, none="No saved drafts.")


@drafts.command()
@_key
def show(session: Session, key: str | None) -> None:
    """Show what publishing a draft would change.

    Without KEY, show your current draft.
    """
    plans = session.client.get(f"{_path(key)}/plan")["plans"]
    if session.is_json:
        output.show_json(plans)
        return
    if not plans:
        output.tell("The draft holds no change.")
    show_changes_of(plans)


@drafts.command("set")
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@click.option("--ttl", type=Ttl(), help="TTL in seconds, or as a duration such as 5m or 1h.")
def set_records(session: Session, zone: str, name: str, type: str, values: Sequence[str], ttl: int | None) -> None:
    """Put records at NAME and TYPE into your current draft.

    Nothing is published.

    \b
    Example:
      dnspanel drafts set example.net www A 192.0.2.1 192.0.2.2 --ttl 300
      dnspanel drafts show
      dnspanel drafts publish --reason "move the shop" --wait
    """
    if ttl is None:
        ttl = present_ttl(session, zone, name, type)
    _want(session, zone, name, type, {"ttl": ttl, "rdata": list(values)})


@drafts.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
def delete(session: Session, zone: str, name: str, type: str) -> None:
    """Delete records in your current draft.

    All records at NAME and TYPE are deleted. Nothing is published.
    """
    _want(session, zone, name, type, None)


@drafts.command()
@_key
@click.option("--zone", "zones", multiple=True, help="Publish only the changes of this zone. Repeat for several.")
@click.option("--accept", "accepted", multiple=True, help="Accept the warning with this code. Repeat for several.")
@confirm_option
@writing_options
def publish(
    session: Session, key: str | None, zones: Sequence[str], accepted: Sequence[str], *, confirm: bool, writing: Writing
) -> None:
    """Publish a draft in one publication.

    Without KEY, publish your current draft.
    """
    body: dict[str, Any] = {"reason": writing.reason, "accepted": list(accepted), "confirm": confirm}
    body |= {"zones": list(zones)} if zones else {}
    written = send_and_wait(session, "POST", f"{_path(key)}/publish", body, waiting=writing)
    show_written(session, written, waited=writing.wait)


@drafts.command()
@_key
@click.option("--zone", help="Discard only the changes of this zone.")
@click.option("--yes", is_flag=True, help="Discard without asking for confirmation.")
def discard(session: Session, key: str | None, zone: str | None, *, yes: bool) -> None:
    """Discard a draft.

    Without KEY, discard your current draft. Published records don't change.
    """
    if key is not None and zone is not None:
        raise click.UsageError("--zone is for the current draft: give no KEY.")
    what = f"the saved draft {key}" if key else f"your changes of {zone}" if zone else "your current draft"
    if not yes:
        session.ask(f"Discard {what}?")
    session.client.send("DELETE", _path(key), query={"zone": zone})
    session.say_done(f"Discarded {what}.", key=key, zone=zone, discarded=True)


def _want(session: Session, zone: str, name: str, type: str, wanted: Mapping[str, Any] | None) -> None:
    """Add an RRset to the current draft, or its deletion if `wanted` is None."""
    path = f"/draft{zone_path(zone, 'rrsets', segment(name), segment(type))}"
    operation = session.client.send("PUT", path, {"wanted": wanted})
    details = {"zone": operation["zone"], "name": operation["name"], "type": operation["type"]}
    session.show(operation, {**details, "in the draft": operation["mark"] or "as published"})


def _path(key: str | None) -> str:
    return "/draft" if key is None else f"/drafts/{segment(key)}"
