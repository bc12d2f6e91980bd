"""The command `dnspanel catalogs`, which manages consumer and producer catalogs."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.fleet.primaries import body_of_primaries, terms_options
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options
from dnspanel.cli.written import dry_run_option, send_write, show_written, tell_dry_run
from dnspanel.cli.zone_paths import segment

_LISTED = (
    Column("CATALOG", "name"),
    Column("STATE", "state", state=True),
    Column("NAMES", "listed", right=True),
    Column("HERE", "members", right=True),
    Column("REFUSED", "refused", right=True),
    Column("KEPT", "kept", right=True),
)
_ZONES = (
    Column("ZONE", "zone"),
    Column("STATE", "state", state=True),
    Column("SINCE", lambda row: output.moment(row["since"])),
    Column("SERIAL", "serial", right=True),
    Column("GROUPS", lambda row: " ".join(row["groups"])),
    Column("REASON", "reason"),
)
_RULES = (
    Column("GROUP", "group"),
    Column("TEAM", "team", right=True),
    Column("TAGS", lambda row: " ".join(row["tags"])),
    Column("FROM", lambda row: " ".join(row["primaries"]["addresses"]) if row["primaries"] else "same as catalog"),
)
_OURS = (
    Column("CATALOG", "name"),
    Column("MEMBERS", "members", right=True),
    Column("LEAVING", "leaving", right=True),
    Column("STATE", lambda row: "in step" if row["in_step"] else "changing", state=True),
    Column("CHANGED", lambda row: output.moment(row["changed_at"])),
    Column("GROUPS", lambda row: " ".join(row["group_tags"])),
)
_MEMBERS = (
    Column("ZONE", "zone"),
    Column("GROUP", "group"),
    Column("LABEL", "label"),
    Column("STATE", lambda row: "in the trash" if row["in_trash"] else ""),
)

_members_options = options(
    click.option("--team", type=int, help="Id of the team that owns the members."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag for all members. Repeat for several."),
    click.option(
        "--within", multiple=True, metavar="NAME", help="Accept only members below this name. Repeat for several."
    ),
    click.option("--most-members", type=int, help="Largest number of members of the catalog."),
    click.option("--most-lost", type=int, help="Percentage of members that can leave at once without confirmation."),
)


@click.group(cls=Commands)
def catalogs() -> None:
    """Manage catalog zones (RFC 9432), consumed and produced."""


@catalogs.command("list")
def list_catalogs(session: Session) -> None:
    """List the consumed catalogs."""
    session.show_rows(session.client.items("/catalogs"), _LISTED, none="No catalogs.")


@catalogs.command()
@click.argument("name")
def show(session: Session, name: str) -> None:
    """Show a consumed catalog and its state."""
    found = session.client.get(f"/catalogs/{_id_of(session, name)}")
    moments = {each: output.moment(found[each]) for each in ("broken_since", "kept_since", "created_at")}
    lists = {each: " ".join(found[each]) for each in ("tags", "within")}
    session.show(found, {**found, **moments, **lists})


@catalogs.command()
@click.argument("name")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@_members_options
@terms_options
@dry_run_option
def follow(session: Session, name: str, addresses: tuple[str, ...], *, dry_run: bool, **terms: Any) -> None:
    """Follow a catalog zone.

    The catalog and its members are transferred from the primaries at ADDRESS.

    \b
    Examples:
      dnspanel catalogs follow catalog.example.net 192.0.2.53 --key transfer.example.net --secret-file key.txt
      dnspanel catalogs follow catalog.example.net 192.0.2.53 --tls --tls-name ns1.example.net --within example.net
    """
    own = _own(terms)
    body = {"name": name, **own, "primaries": body_of_primaries(addresses, **terms)}
    _show_one(session, send_write(session, "POST", "/catalogs", body, dry_run=dry_run))
    tell_dry_run(session, dry_run=dry_run)


@catalogs.command("set")
@click.argument("name")
@_members_options
def change(session: Session, name: str, **terms: Any) -> None:
    """Change the settings for members of a catalog.

    Settings that are not given stay unchanged.
    """
    _show_one(session, session.client.send("PATCH", f"/catalogs/{_id_of(session, name)}", _own(terms)))


@catalogs.command()
@click.argument("name")
def rules(session: Session, name: str) -> None:
    """List a catalog's rules for groups of members.

    The first rule that matches applies.
    """
    found = session.client.get(f"/catalogs/{_id_of(session, name)}/rules")
    session.show_rows(found["rules"], _RULES, none="No rules.")


@catalogs.command("set-rule")
@click.argument("name")
@click.argument("group")
@click.argument("addresses", metavar="[ADDRESS...]", nargs=-1)
@click.option("--team", type=int, help="Id of the team that owns the members; the default is the team of the catalog.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Tag for the members, in addition to the tags of the catalog. Repeat for several.",
)
@terms_options
def set_rule(
    session: Session,
    name: str,
    group: str,
    addresses: tuple[str, ...],
    team: int | None,
    tags: tuple[str, ...],
    **terms: Any,
) -> None:
    """Set the rule for a group of members.

    Without ADDRESS, members are transferred from the primaries of the catalog.
    """
    path = f"/catalogs/{_id_of(session, name)}/rules"
    there = session.client.get(path)["rules"]
    primaries = body_of_primaries(addresses, **terms) if addresses else None
    rule = {"group": group, "team": team, "tags": list(tags), "primaries": primaries}
    places = [number for number, each in enumerate(there) if each["group"] == group]
    if places:
        there[places[0]] = rule
    else:
        there.append(rule)
    found = session.client.send("PUT", path, {"rules": there})
    session.show_rows(found["rules"], _RULES, none="No rules.")


@catalogs.command("drop-rule")
@click.argument("name")
@click.argument("group")
def drop_rule(session: Session, name: str, group: str) -> None:
    """Delete the rule for a group."""
    path = f"/catalogs/{_id_of(session, name)}/rules"
    there = session.client.get(path)["rules"]
    left = [each for each in there if each["group"] != group]
    if len(left) == len(there):
        raise Refused({"code": "not-found", "detail": f"No rule for the group {group} found."})
    found = session.client.send("PUT", path, {"rules": left})
    session.show_rows(found["rules"], _RULES, none="No rules.")


@catalogs.command("zones")
@click.argument("name")
@click.option("--state", type=click.Choice(["member", "refused", "moved"]), help="Show only zones in this state.")
def list_zones(session: Session, name: str, state: str | None) -> None:
    """List the zones in a consumed catalog, with their state."""
    query = {"state": state} if state else {}
    rows = session.client.items(f"/catalogs/{_id_of(session, name)}/zones", **query)
    session.show_rows(rows, _ZONES, none="No zones.")


@catalogs.command()
@click.argument("name")
@click.argument("revision", type=int)
def confirm(session: Session, name: str, revision: int) -> None:
    """Confirm the removal of members that left a catalog.

    REVISION is `kept_revision` in the output of `dnspanel catalogs show`.
    """
    found = session.client.send("POST", f"/catalogs/{_id_of(session, name)}/confirm", {"revision": revision})
    session.show(found, {"catalog": found["name"], "removed": "on its way"})


@catalogs.command()
@click.argument("name")
@dry_run_option
def unfollow(session: Session, name: str, *, dry_run: bool) -> None:
    """Stop following a catalog.

    The zones of the catalog stay in the panel.
    """
    planned = send_write(session, "DELETE", f"/catalogs/{_id_of(session, name)}", dry_run=dry_run)
    if dry_run:
        show_written(session, planned, waited=False)
        return
    session.say_done(f"Stopped following {name}. Its zones stay in the panel.", catalog=name, deleted=True)


@catalogs.command("ours")
def list_ours(session: Session) -> None:
    """List the produced catalogs and the state of each."""
    session.show_rows(session.client.items("/produced-catalogs"), _OURS, none="No produced catalogs yet.")


@catalogs.command()
@click.argument("name")
@click.option("--team", type=int, help="Id of the team that owns the catalog.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="TAG",
    help="Tag to use as a group. Repeat for several, the first match counts.",
)
@dry_run_option
def make(session: Session, name: str, team: int | None, groups: tuple[str, ...], *, dry_run: bool) -> None:
    """Create a produced catalog.

    A produced catalog is a zone that lists other zones for secondaries. No node serves the catalog.

    \b
    Examples:
      dnspanel catalogs make partners.catalog --group gold --group silver
      dnspanel catalogs put-in partners.catalog example.org example.net
    """
    body = {"name": name, "team": team, "group_tags": list(groups)}
    found = send_write(session, "POST", "/produced-catalogs", body, dry_run=dry_run)
    session.show(found, {"catalog": found["name"], "groups": " ".join(found["group_tags"])})
    tell_dry_run(session, dry_run=dry_run)


@catalogs.command()
@click.argument("name")
def members(session: Session, name: str) -> None:
    """List the zones in a produced catalog."""
    session.show_rows(session.client.items(_path_of(name, "/members")), _MEMBERS, none="No zones in the catalog yet.")


@catalogs.command("put-in")
@click.argument("name")
@click.argument("zones", metavar="[ZONE...]", nargs=-1)
@click.option("--tag", default="", help="Add all zones with this tag.")
@click.option("--team", type=int, help="Add all zones of the team with this id.")
def put_in(session: Session, name: str, zones: tuple[str, ...], tag: str, team: int | None) -> None:
    """Add zones to a produced catalog.

    A zone can be in only one catalog. A zone's old catalog refers to the new one for one hour.
    """
    found = session.client.send("POST", _path_of(name, "/put-in"), {"zones": list(zones), "tag": tag, "team": team})
    session.say_done(f"Added {output.count(found['moved'], 'zone')} to {name}.", **found)


@catalogs.command("take-out")
@click.argument("name")
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
def take_out(session: Session, name: str, zones: tuple[str, ...]) -> None:
    """Remove zones from a produced catalog.

    Secondaries that follow the catalog stop serving the zones.
    """
    found = session.client.send("POST", _path_of(name, "/take-out"), {"zones": list(zones)})
    session.say_done(f"Removed {output.count(found['moved'], 'zone')} from {name}.", **found)


@catalogs.command("groups")
@click.argument("name")
@click.argument("tags", metavar="[TAG...]", nargs=-1)
@click.option("--none", "no_groups", is_flag=True, help="Remove all groups from the catalog.")
def set_groups(session: Session, name: str, tags: tuple[str, ...], *, no_groups: bool) -> None:
    """Show or set the groups of a produced catalog.

    Without TAG, the groups are shown. A member belongs to the group of its first matching tag.
    """
    if tags and no_groups:
        raise click.UsageError("Give TAG or --none, not both.")
    if tags or no_groups:
        found = session.client.send("PATCH", _path_of(name), {"group_tags": list(tags)})
    else:
        found = session.client.get(_path_of(name))
    session.show(found, {"catalog": found["name"], "groups": " ".join(found["group_tags"])})


@catalogs.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--confirm", is_flag=True, help="Confirm deleting many zones.")
@click.option("--reason", default="", help="Reason for the history.")
@dry_run_option
def delete(session: Session, name: str, *, yes: bool, confirm: bool, reason: str, dry_run: bool) -> None:
    """Delete a produced catalog.

    The catalog stays in the trash for 30 days, and its members stay in the panel. A restored catalog has its members
    again.
    """
    path = _path_of(name)
    found = session.client.get(path)
    if not (yes or dry_run):
        session.ask(f"Delete {found['name']}, which lists {output.count(found['members'], 'zone')}?")
    terms = {"reason": reason, "confirm": "true" if confirm else ""}
    query = {name: value for name, value in terms.items() if value}
    planned = send_write(session, "DELETE", path, query=query, dry_run=dry_run)
    if dry_run:
        show_written(session, planned, waited=False)
        return
    session.say_done(f"Deleted {found['name']}. Its members stay in the panel.", catalog=found["name"], deleted=True)


def _path_of(name: str, below: str = "") -> str:
    return f"/produced-catalogs/{segment(name)}{below}"


def _own(terms: dict[str, Any]) -> dict[str, Any]:
    """Remove the options for members from `terms`, and return the options that were given."""
    said = {name: terms.pop(name) for name in ("team", "tags", "within", "most_members", "most_lost")}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}
    return {name: value for name, value in values.items() if value not in (None, [])}


def _show_one(session: Session, found: Mapping[str, Any]) -> None:
    session.show(found, {"catalog": found["name"], "state": found["state"]})


def _id_of(session: Session, name: str) -> int:
    """Return the id of the catalog with this name. Raise Refused if no catalog has the name."""
    canonical = f"{name.rstrip('.').lower()}."
    rows: Mapping[str, Any] = {row["name"]: row["id"] for row in session.client.items("/catalogs")}
    if canonical not in rows:
        raise Refused({"code": "not-found", "detail": f"There is no catalog {name}."})
    return int(rows[canonical])
