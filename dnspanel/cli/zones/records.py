"""The command `dnspanel records`, which lists and changes records without overwriting other people's changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.durations import Ttl
from dnspanel.cli.errors import Refused
from dnspanel.cli.many import only_act, tell_others, tell_refusals
from dnspanel.cli.output import Column
from dnspanel.cli.session import C, Commands, Session, options_as
from dnspanel.cli.written import Writing, confirm_option, publish, show_change, show_written, writing_options
from dnspanel.cli.zone_paths import segment, zone_path

DEFAULT_TTL = 3600

_LISTED = (
    Column("NAME", "name"),
    Column("TTL", "ttl", right=True),
    Column("TYPE", "type"),
    Column("VALUE", "value"),
    Column("", lambda row: "disabled" if row["disabled"] else ""),
)
_TTL = click.option("--ttl", type=Ttl(), help="TTL in seconds, or a duration such as 5m or 1h.")


@dataclass(frozen=True, slots=True)
class Notes:
    """The comments and tags to set for an RRset. None, False and empty sequences leave them unchanged."""

    comment: str | None
    tags: Sequence[str]
    no_tags: bool
    of_values: Sequence[tuple[str, str]]


notes_options = options_as(
    "notes",
    Notes,
    click.option("--comment", help='Comment for the RRset. "" removes the comment.'),
    click.option("--tag", "tags", multiple=True, help="Tag that replaces all present tags. Repeat for several."),
    click.option("--no-tags", is_flag=True, help="Remove all tags from the RRset."),
    click.option(
        "--value-comment",
        "of_values",
        nargs=2,
        multiple=True,
        metavar="VALUE TEXT",
        help="Comment for one value. Repeat for several.",
    ),
)


@click.group(cls=Commands)
def records() -> None:
    """Manage records of zones.

    NAME is relative to the zone, or absolute with a final dot; @ is the apex. A VALUE is written as in a zone file:
    "10 mail.example.net." for an MX. Names in a VALUE are absolute and must end in a dot. Put -- before values that
    begin with a minus.
    """


def changing_options(command: C) -> C:
    """Add the options that all commands for changing records share."""
    command = click.option("--ptr", is_flag=True, help="Change the PTR records of the addresses too, where you can.")(
        command
    )
    command = confirm_option(command)
    return writing_options(command)


@records.command("list")
@click.argument("zone")
@click.option("-q", "--search", help="Search by text and filters, such as ttl:<300 or value:mail.")
@click.option("--name", help="Show only the records at this owner name.")
@click.option("--type", "type_", help="Show only these types, comma-separated.")
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
    output.show_table(rows, _LISTED, none="No records.")


@records.command("set")
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@_TTL
@changing_options
def set_records(
    session: Session, zone: str, name: str, type: str, values: Sequence[str], ttl: int | None, **how: Any
) -> None:
    """Set the records at NAME and TYPE.

    All existing records at NAME and TYPE are replaced. Without --ttl, the TTL does not change. New records get the
    zone's default TTL, or 3600 s. `dnspanel records change` can change a TTL without the values.

    \b
    Examples:
      dnspanel records set example.net www A 192.0.2.1 192.0.2.2 --ttl 300 --wait
      dnspanel records set example.net @ MX "10 mail.example.net." --dry-run
    """
    if ttl is None:
        ttl = present_ttl(session, zone, name, type)
    _change(session, zone, {"op": "replace", "name": name, "type": type, "ttl": ttl, "rdata": list(values)}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@_TTL
@changing_options
def add(session: Session, zone: str, name: str, type: str, values: Sequence[str], ttl: int | None, **how: Any) -> None:
    """Add records at NAME and TYPE.

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
def remove(session: Session, zone: str, name: str, type: str, values: Sequence[str], **how: Any) -> None:
    """Remove some records at NAME and TYPE.

    Other records at NAME and TYPE don't change.

    \b
    Example:
      dnspanel records remove example.net www A 192.0.2.1 --wait
    """
    _change(session, zone, {"op": "prune", "name": name, "type": type, "rdata": list(values)}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@changing_options
def delete(session: Session, zone: str, name: str, type: str, **how: Any) -> None:
    """Delete all records at NAME and TYPE.

    \b
    Example:
      dnspanel records delete example.net old CNAME --wait
    """
    _change(session, zone, {"op": "delete", "name": name, "type": type}, **how)


@records.command()
@click.argument("zone")
@click.argument("name")
@click.argument("type")
@notes_options
@writing_options
def note(session: Session, zone: str, name: str, type: str, notes: Notes, writing: Writing) -> None:
    """Set comments and tags of records.

    Records and TTL don't change. An empty TEXT removes the comment of a value.

    \b
    Example:
      dnspanel records note example.net www A --tag shop --value-comment 192.0.2.1 "first rack"
    """
    path = zone_path(zone, "rrsets", segment(name), segment(type))
    body: dict[str, Any] = {} if notes.comment is None else {"comment": notes.comment}
    if notes.tags or notes.no_tags:
        body["tags"] = list(notes.tags)
    if notes.of_values:
        remarks = {**session.client.get(path).get("value_comments", {}), **dict(notes.of_values)}
        body["value_comments"] = {value: text for value, text in remarks.items() if text}
    if not body or (notes.tags and notes.no_tags):
        raise click.UsageError("Give --comment, --tag, --no-tags or --value-comment.")
    query = {"reason": writing.reason} if writing.reason else None
    written = publish(session, "PATCH", path, body, waiting=writing, query=query)
    show_written(session, written, waited=writing.wait)


@records.command()
@click.option("-q", "--search", help="Select all records that this search finds, such as type:a has:192.0.2.7.")
@click.option(
    "--at", "places", nargs=3, multiple=True, metavar="ZONE NAME TYPE", help="Select one RRset. Repeat for several."
)
@click.option("--set-ttl", type=Ttl(), help="New TTL in seconds, or a duration such as 5m or 1h.")
@click.option(
    "--set-value", "set_values", multiple=True, help="Value that replaces all present values. Repeat for several."
)
@click.option("--add-value", "add_values", multiple=True, help="Value to add. Repeat for several.")
@click.option("--remove-value", "remove_values", multiple=True, help="Value to remove. Repeat for several.")
@click.option("--find", help="Text to find in values. With --pattern, a full value in which * matches any text.")
@click.option(
    "--replace-with", help="Text that replaces the text of --find. With --pattern, * inserts the matched text."
)
@click.option("--pattern", is_flag=True, help="Read --find as a pattern.")
@click.option("--set-comment", help='New comment of the records. "" removes the comment.')
@click.option("--add-tag", "add_tags", multiple=True, help="Tag to add. Repeat for several.")
@click.option("--remove-tag", "remove_tags", multiple=True, help="Tag to remove. Repeat for several.")
@click.option("--enable", is_flag=True, help="Serve all values of the records.")
@click.option("--disable", is_flag=True, help="Store the records, but do not serve the values.")
@click.option("--delete", is_flag=True, help="Delete the selected records.")
@changing_options
def change(
    session: Session,
    search: str | None,
    places: Sequence[tuple[str, str, str]],
    *,
    confirm: bool,
    writing: Writing,
    **told: Any,
) -> None:
    """Change records of many zones in one publication.

    Changes that would result in invalid values, or that the token is not allowed to make, are skipped and listed.

    \b
    Examples:
      dnspanel records change -q 'type:a ttl:<300' --set-ttl 300 --dry-run
      dnspanel records change --at example.net www A --set-ttl 5m
      dnspanel records change -q has:192.0.2.7 --find 192.0.2.7 --replace-with 198.51.100.7 --wait
      dnspanel records change -q 'type:mx old.example.net' --pattern --find '* *.old.example.net.' \\
        --replace-with '* *.new.example.net.'
    """
    if (search is None) == (not places):
        raise click.UsageError("Give --search or --at, not both.")
    named = [{"zone": zone, "name": name, "type": type_} for zone, name, type_ in places]
    found: dict[str, Any] = {"q": search} if search is not None else {"rrsets": named}
    body = {**found, "act": _act(**told), "reason": writing.reason, "confirm": confirm}
    if writing.dry_run:
        _show_preview(session, session.client.send("POST", "/bulk/rrsets", body, query={"dry_run": True}))
        return
    written = publish(session, "POST", "/bulk/rrsets", body, waiting=writing)
    show_written(session, written, waited=writing.wait)
    if not session.is_json:
        _tell_refusals(written["outcome"])


def _act(*, find: str | None, replace_with: str | None, pattern: bool, **told: Any) -> dict[str, Any]:
    """Return the only action that the options describe. Raise UsageError unless there is exactly one."""
    acts: list[dict[str, Any]] = []
    if told["set_ttl"] is not None:
        acts.append({"op": "set-ttl", "ttl": told["set_ttl"]})
    for op in ("set_values", "add_values", "remove_values"):
        if told[op]:
            acts.append({"op": op.replace("_", "-"), "values": list(told[op])})
    if told["set_comment"] is not None:
        acts.append({"op": "set-comment", "comment": told["set_comment"]})
    acts += [{"op": op.replace("_", "-"), "tags": list(told[op])} for op in ("add_tags", "remove_tags") if told[op]]
    acts += [{"op": op} for op in ("enable", "disable", "delete") if told[op]]
    if (find is None) != (replace_with is None):
        raise click.UsageError("Give --find and --replace-with together.")
    if find is not None:
        acts.append({"op": "replace-text", "find": find, "replacement": replace_with, "pattern": pattern})
    elif pattern:
        raise click.UsageError("--pattern needs --find.")
    return only_act(acts, "--set-ttl, --find, --delete …")


def _show_preview(session: Session, preview: Mapping[str, Any]) -> None:
    if session.is_json:
        output.show_json(preview)
        return
    rrsets, zones = output.count(preview["changed"], "RRset"), output.count(preview["changed_zones"], "zone")
    click.echo(f"{rrsets} in {zones} would change.")
    for example in preview["examples"]:
        show_change(example)
    tell_others(preview)
    _tell_refusals(preview)
    for violation in preview["violations"]:
        output.tell(f"{violation['severity'].capitalize()}: {violation['message']}")
    for guarded in preview["guard"]:
        output.tell(f"{guarded['zone']} needs --confirm: {' '.join(guarded['reasons'])}")
    output.tell("Nothing was written.")


def _tell_refusals(outcome: Mapping[str, Any]) -> None:
    tell_refusals(outcome, lambda refusal: f"{refusal['name']} {refusal['type']}")
    if outcome["left_out_zones"]:
        zones = output.count(outcome["left_out_zones"], "zone")
        output.tell(f"New records in {zones} or more are not searched yet.")


def _change(
    session: Session, zone: str, order: Mapping[str, Any], *, confirm: bool, ptr: bool, writing: Writing
) -> None:
    path = zone_path(zone, "changes")
    body = {"changes": [order], "reason": writing.reason, "confirm": confirm, **({"ptr": True} if ptr else {})}
    show_written(session, publish(session, "POST", path, body, waiting=writing), waited=writing.wait)


def present_ttl(session: Session, zone: str, name: str, type: str) -> int:
    """Return the TTL of the existing records. If there are no records, return the zone's default TTL, or 3600."""
    try:
        return int(session.client.get(zone_path(zone, "rrsets", segment(name), segment(type)))["ttl"])
    except Refused as exc:
        if exc.code != "not-found":
            raise
        of_zone = session.client.get(zone_path(zone))["default_ttl"]
        return DEFAULT_TTL if of_zone is None else int(of_zone)
