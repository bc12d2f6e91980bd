"""`dnspanel catalogs`: catalogs of others that are followed, the zones that are here by them, and catalogs of ours."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.primaries import body_of_primaries, terms_options
from dnspanel.cli.session import Session, options, pass_session, shared_options
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
    Column("FROM", lambda row: " ".join(row["primaries"]["addresses"]) if row["primaries"] else "as the catalog"),
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
    click.option("--team", type=int, help="Id of the team that members belong to."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="That members have; may be given several times."),
    click.option("--within", multiple=True, metavar="NAME", help="Members lie below it; may be given several times."),
    click.option("--most-members", type=int, help="How many members it may have."),
    click.option("--most-lost", type=int, help="Percent of the members that may leave at once without a yes."),
)


@click.group()
def catalogs() -> None:
    """Catalogs (RFC 9432): zones come and go here as those of others say; those of ours say which zones are in them."""


@catalogs.command("list")
@shared_options
@pass_session
def list_catalogs(session: Session) -> None:
    """List the catalogs that are followed."""
    session.show_rows(session.client.items("/catalogs"), _LISTED, none="No catalog.")


@catalogs.command()
@click.argument("name")
@shared_options
@pass_session
def show(session: Session, name: str) -> None:
    """Show a catalog, and how it stands."""
    found = session.client.get(f"/catalogs/{_id_of(session, name)}")
    moments = {each: output.moment(found[each]) for each in ("broken_since", "kept_since", "created_at")}
    lists = {each: " ".join(found[each]) for each in ("tags", "within")}
    session.show(found, {**found, **moments, **lists})


@catalogs.command()
@click.argument("name")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@_members_options
@terms_options
@shared_options
@pass_session
def follow(session: Session, name: str, addresses: tuple[str, ...], **terms: Any) -> None:
    """Follow the catalog zone of this name, which comes from these primaries, as its members do.

    \b
    Examples:
      dnspanel catalogs follow catalog.example.net 192.0.2.53 --key transfer.example.net --secret-file key.txt
      dnspanel catalogs follow catalog.example.net 192.0.2.53 --tls --tls-name ns1.example.net --within example.net
    """
    own = _own(terms)
    body = {"name": name, **own, "primaries": body_of_primaries(addresses, **terms)}
    _show_one(session, session.client.send("POST", "/catalogs", body))


@catalogs.command("set")
@click.argument("name")
@_members_options
@shared_options
@pass_session
def change(session: Session, name: str, **terms: Any) -> None:
    """Change what the zones that a catalog names get; what is not named stays."""
    _show_one(session, session.client.send("PATCH", f"/catalogs/{_id_of(session, name)}", _own(terms)))


@catalogs.command()
@click.argument("name")
@shared_options
@pass_session
def rules(session: Session, name: str) -> None:
    """List the rules of a catalog: what the members of a group get. The first that fits counts."""
    found = session.client.get(f"/catalogs/{_id_of(session, name)}/rules")
    session.show_rows(found["rules"], _RULES, none="No rule.")


@catalogs.command("set-rule")
@click.argument("name")
@click.argument("group")
@click.argument("addresses", metavar="[ADDRESS...]", nargs=-1)
@click.option("--team", type=int, help="Id of the team that they belong to; without: that of the catalog.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="That they have besides those of the catalog.")
@terms_options
@shared_options
@pass_session
def set_rule(
    session: Session,
    name: str,
    group: str,
    addresses: tuple[str, ...],
    team: int | None,
    tags: tuple[str, ...],
    **terms: Any,
) -> None:
    """Say what the members of a group get; without addresses they come from where the catalog comes."""
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
    session.show_rows(found["rules"], _RULES, none="No rule.")


@catalogs.command("drop-rule")
@click.argument("name")
@click.argument("group")
@shared_options
@pass_session
def drop_rule(session: Session, name: str, group: str) -> None:
    """Take away the rule about a group."""
    path = f"/catalogs/{_id_of(session, name)}/rules"
    there = session.client.get(path)["rules"]
    left = [each for each in there if each["group"] != group]
    if len(left) == len(there):
        raise Refused({"code": "not-found", "detail": f"There is no rule about the group {group}."})
    found = session.client.send("PUT", path, {"rules": left})
    session.show_rows(found["rules"], _RULES, none="No rule.")


@catalogs.command("zones")
@click.argument("name")
@click.option("--state", type=click.Choice(["member", "refused", "moved"]), help="Those in this state only.")
@shared_options
@pass_session
def list_zones(session: Session, name: str, state: str | None) -> None:
    """List the zones that a catalog names, and what became of each."""
    query = {"state": state} if state else {}
    rows = session.client.items(f"/catalogs/{_id_of(session, name)}/zones", **query)
    session.show_rows(rows, _ZONES, none="No zone.")


@catalogs.command()
@click.argument("name")
@click.argument("revision", type=int)
@shared_options
@pass_session
def confirm(session: Session, name: str, revision: int) -> None:
    """Remove the members that left in this revision (`kept_revision` of `show`), however many they are."""
    found = session.client.send("POST", f"/catalogs/{_id_of(session, name)}/confirm", {"revision": revision})
    session.show(found, {"catalog": found["name"], "removed": "on its way"})


@catalogs.command()
@click.argument("name")
@shared_options
@pass_session
def unfollow(session: Session, name: str) -> None:
    """Follow a catalog no more; the zones that are here by it stay."""
    session.client.send("DELETE", f"/catalogs/{_id_of(session, name)}")
    session.done(f"Stopped following {name}. Its zones stay in the panel.", catalog=name, deleted=True)


@catalogs.command("ours")
@shared_options
@pass_session
def list_ours(session: Session) -> None:
    """List catalogs of ours, and how each stands."""
    session.show_rows(session.client.items("/produced-catalogs"), _OURS, none="No catalog of ours.")


@catalogs.command()
@click.argument("name")
@click.option("--team", type=int, help="Id of the team that it belongs to.")
@click.option("--group", "groups", multiple=True, metavar="TAG", help="A tag that is a group; several in their order.")
@shared_options
@pass_session
def make(session: Session, name: str, team: int | None, groups: tuple[str, ...]) -> None:
    """Make a catalog of ours: a zone that no node has, and that says which zones are in it.

    \b
    Examples:
      dnspanel catalogs make partners.catalog --group gold --group silver
      dnspanel catalogs put-in partners.catalog example.org example.net
    """
    body = {"name": name, "team": team, "group_tags": list(groups)}
    found = session.client.send("POST", "/produced-catalogs", body)
    session.show(found, {"catalog": found["name"], "groups": " ".join(found["group_tags"])})


@catalogs.command()
@click.argument("name")
@shared_options
@pass_session
def members(session: Session, name: str) -> None:
    """List the zones that are in a catalog of ours."""
    session.show_rows(session.client.items(_path_of(name, "/members")), _MEMBERS, none="No zone is in it.")


@catalogs.command("put-in")
@click.argument("name")
@click.argument("zones", metavar="[ZONE...]", nargs=-1)
@click.option("--tag", default="", help="All zones that have it.")
@click.option("--team", type=int, help="Id of a team: all of its zones.")
@shared_options
@pass_session
def put_in(session: Session, name: str, zones: tuple[str, ...], tag: str, team: int | None) -> None:
    """Put zones into a catalog of ours; another one that they are in says for an hour where they went."""
    found = session.client.send("POST", _path_of(name, "/put-in"), {"zones": list(zones), "tag": tag, "team": team})
    session.done(f"Added {output.count(found['moved'], 'zone')} to {name}.", **found)


@catalogs.command("take-out")
@click.argument("name")
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@shared_options
@pass_session
def take_out(session: Session, name: str, zones: tuple[str, ...]) -> None:
    """Take zones out of a catalog of ours: whoever follows it serves them no more."""
    found = session.client.send("POST", _path_of(name, "/take-out"), {"zones": list(zones)})
    session.done(f"Removed {output.count(found['moved'], 'zone')} from {name}.", **found)


@catalogs.command("groups")
@click.argument("name")
@click.argument("tags", metavar="[TAG...]", nargs=-1)
@click.option("--none", "no_groups", is_flag=True, help="It has no groups any more.")
@shared_options
@pass_session
def set_groups(session: Session, name: str, tags: tuple[str, ...], no_groups: bool) -> None:
    """Set the groups of a catalog of ours, or show them where no tag is named.

    A member is in the group of the first of these tags that it has.
    """
    if tags and no_groups:
        raise click.UsageError("Tags, or --none: not both.")
    if tags or no_groups:
        found = session.client.send("PATCH", _path_of(name), {"group_tags": list(tags)})
    else:
        found = session.client.get(_path_of(name))
    session.show(found, {"catalog": found["name"], "groups": " ".join(found["group_tags"])})


@catalogs.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm", is_flag=True, help="Delete it though it is one of many.")
@click.option("--reason", default="", help="Kept in the history.")
@shared_options
@pass_session
def delete(session: Session, name: str, yes: bool, confirm: bool, reason: str) -> None:
    """Delete a catalog of ours. It lies in the trash for 30 days; its members stay, and are in it if it comes back."""
    path = _path_of(name)
    found = session.client.get(path)
    if not yes:
        session.ask(f"Delete {found['name']}, which lists {output.count(found['members'], 'zone')}?")
    terms = {"reason": reason, "confirm": "true" if confirm else ""}
    session.client.send("DELETE", path, query={name: value for name, value in terms.items() if value})
    session.done(f"Deleted {found['name']}. Its members stay in the panel.", catalog=found["name"], deleted=True)


def _path_of(name: str, below: str = "") -> str:
    return f"/produced-catalogs/{segment(name)}{below}"


def _own(terms: dict[str, Any]) -> dict[str, Any]:
    """What was said about members, taken out of the options."""
    said = {name: terms.pop(name) for name in ("team", "tags", "within", "most_members", "most_lost")}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}
    return {name: value for name, value in values.items() if value not in (None, [])}


def _show_one(session: Session, found: Mapping[str, Any]) -> None:
    session.show(found, {"catalog": found["name"], "state": found["state"]})


def _id_of(session: Session, name: str) -> int:
    """The id of the catalog of this name; raises Refused."""
    canonical = f"{name.rstrip('.').lower()}."
    rows: Mapping[str, Any] = {row["name"]: row["id"] for row in session.client.items("/catalogs")}
    if canonical not in rows:
        raise Refused({"code": "not-found", "detail": f"There is no catalog {name}."})
    return int(rows[canonical])
