"""The commands `dnspanel zones diff` and `dnspanel zones revert`, which show and restore revisions."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.session import Command, Session
from dnspanel.cli.written import Writing, confirm_option, publish, show_change, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

_revision = click.argument("revision", type=click.IntRange(min=1))


@click.command(cls=Command)
@click.argument("zone")
@_revision
@click.argument("other", type=click.IntRange(min=1), required=False)
def diff(session: Session, zone: str, revision: int, other: int | None) -> None:
    """Show what a REVISION changed, or how two revisions differ.

    Each record that differs is a line with - or +.

    \b
    Examples:
      dnspanel zones diff example.net 12
      dnspanel zones diff example.net 12 17 --output json
    """
    if other is None:
        found = session.client.get(zone_path(zone, "revisions", revision))
        changes, left_out = found["changes"], found["left_out"]
    else:
        before, after = (_rrsets_at(session, zone, number) for number in (revision, other))
        changes, left_out = list(_differences(before, after)), 0
    if session.is_json:
        output.show_json(changes)
        return
    for change in changes:
        show_change(change)
    if not changes:
        output.tell("No records changed.")
    if left_out:
        output.tell(f"… and {left_out} more.")


@click.command(cls=Command)
@click.argument("zone")
@_revision
@confirm_option
@writing_options
def revert(session: Session, zone: str, revision: int, *, confirm: bool, writing: Writing) -> None:
    """Publish the records of a zone as they were at a REVISION.

    Changes after this revision are undone.

    \b
    Examples:
      dnspanel zones diff example.net 17 12
      dnspanel zones revert example.net 12 --wait
    """
    path = zone_path(zone, "revisions", revision, "restore")
    written = publish(session, "POST", path, {"reason": writing.reason, "confirm": confirm}, waiting=writing)
    show_written(session, written, waited=writing.wait)


def _rrsets_at(session: Session, zone: str, revision: int) -> dict[tuple[str, str], Mapping[str, Any]]:
    path = zone_path(zone, "revisions", revision, "rrsets")
    return {(each["name"], each["type"]): each for each in session.client.items(path, limit=1000)}


def _differences(
    before: Mapping[tuple[str, str], Mapping[str, Any]], after: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the RRsets that differ, in the order of the first revision. Ignore an SOA if only its serial differs."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if _without_serial(old) != _without_serial(new):
            yield {"name": key[0], "type": key[1], "before": old, "after": new}


def _without_serial(rrset: Mapping[str, Any] | None) -> Any:
    """Return the RRset for comparison. If it is an SOA, remove its serial."""
    if rrset is None or rrset["type"] != "SOA":
        return rrset
    fields = [value.split() for value in rrset["rdata"]]
    return {**rrset, "rdata": [[*each[:2], *each[3:]] for each in fields]}
