"""The command `dnspanel name-servers`: manage sets of name servers, the zones that follow them, and vanity names."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli.durations import Ttl
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options
from dnspanel.cli.written import dry_run_option, send_write, show_written, tell_dry_run
from dnspanel.cli.zone_paths import zone_path

_SETS = "/name-server-sets"
_NODE = "node:"
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("TEAM", "team", right=True),
    Column("DEFAULT", lambda row: "default" if row["default"] else ""),
    Column("VERSION", "version", right=True),
    Column("NAME SERVERS", lambda row: " ".join(each["name"] for each in row["servers"])),
)

_PLACES = (
    Column("ZONE", "zone"),
    Column("KEPT", lambda row: row["refusal"] or ("kept" if row["kept"] else "")),
    Column("GLUE", lambda row: _glue(row)),
    Column("PARENT", lambda row: " ".join(f"{each['code']}: {each['verdict']}" for each in row["parent"])),
)

# The settings of a set, except its name and its servers.
_told = options(
    click.option("--primary", help="Primary in the SOA record; the default is the first server."),
    click.option("--hostmaster", help="Mailbox in the SOA record, as a name."),
    click.option(
        "--ttl", type=Ttl(60, 604_800), help="TTL of the NS records in seconds, or a duration such as 1h or 1d."
    ),
    click.option("--description", help="Description of the set."),
    click.option("--default/--no-default", default=None, help="Use the set for new zones, or for no new zones."),
)


@click.group("name-servers", cls=Commands)
def name_servers() -> None:
    """Manage sets of name servers.

    SET is a name or an id. SERVER is a name with its addresses or nodes, comma-separated: ns1.example.net,192.0.2.1 or
    ns1.example.net,node:fra1
    """


@name_servers.command("list")
def list_sets(session: Session) -> None:
    """List the sets of name servers."""
    session.show_rows(session.client.items(_SETS), _LISTED, none="No sets of name servers.")


@name_servers.command()
@click.argument("name", metavar="SET")
def show(session: Session, name: str) -> None:
    """Show a set of name servers."""
    _show(session, session.client.get(f"{_SETS}/{_find_set(session, name)['id']}"))


@name_servers.command()
@click.argument("name")
@click.argument("servers", metavar="SERVER...", nargs=-1, required=True)
@click.option("--team", type=int, help="Id of the team that owns the set; the default is the panel.")
@_told
def create(session: Session, name: str, servers: Sequence[str], **told: Any) -> None:
    """Create a set of name servers.

    \b
    Example:
      dnspanel name-servers create House ns1.example.net,192.0.2.1 ns2.example.net --default
    """
    _show(session, session.client.send("POST", _SETS, {"name": name, **_body(servers, told)}))


@name_servers.command()
@click.argument("name", metavar="SET")
@click.argument("servers", metavar="[SERVER...]", nargs=-1)
@_told
def change(session: Session, name: str, servers: Sequence[str], **told: Any) -> None:
    """Change a set of name servers.

    New servers make a new version of the set. Zones change only with `dnspanel templates run`.
    """
    body = _body(servers, told)
    if not body:
        raise click.UsageError("Give SERVER or an option to change.")
    _show(session, session.client.send("PATCH", f"{_SETS}/{_find_set(session, name)['id']}", body))


@name_servers.command()
@click.argument("name", metavar="SET")
def delete(session: Session, name: str) -> None:
    """Delete a set of name servers.

    Zones keep their name servers and stop following the set.
    """
    found = _find_set(session, name)
    session.client.send("DELETE", f"{_SETS}/{found['id']}")
    session.say_done(f"Set {found['name']} deleted.", id=found["id"], deleted=True)


@name_servers.command()
@click.argument("zone")
def zone(session: Session, zone: str) -> None:
    """Show the set that a zone follows, and the differences.

    `dnspanel templates apply` removes the differences. Exit code 1 means that the zone differs from the set.
    """
    found = session.client.get(zone_path(zone, "name-servers"))
    session.show(found, {"zone": zone, **found})
    if found["more"] or found["fewer"] or found["soa_differs"]:
        raise click.exceptions.Exit(1)


@name_servers.command()
@click.argument("name", metavar="SET")
def addresses(session: Session, name: str) -> None:
    """List zones that contain names of a set.

    Also shows the addresses of the nodes behind these names, and the records at the parent zones.
    """
    found = session.client.get(f"{_SETS}/{_find_set(session, name)['id']}/addresses")
    session.show_rows(found["items"], _PLACES, none="No names of the set with nodes are in zones of the panel.")


@name_servers.command()
@click.argument("name", metavar="SET")
@click.argument("zone")
@click.option("--stop", is_flag=True, help="Stop updating the addresses; the records stay.")
@dry_run_option
def keep(session: Session, name: str, zone: str, *, stop: bool, dry_run: bool) -> None:
    """Publish the addresses of a set and keep them up to date.

    Exit code 1 means that the addresses cannot be published yet; the reason is printed.
    """
    path = f"{_SETS}/{_find_set(session, name)['id']}/addresses/{zone}"
    found = send_write(session, "DELETE" if stop else "PUT", path, dry_run=dry_run)
    if stop and dry_run:
        show_written(session, found, waited=False)
    elif stop:
        session.say_done(f"The addresses in {zone} are not updated any more.", zone=zone, kept=False)
    else:
        tell_dry_run(session, dry_run=dry_run)
        _show_place(session, found)


@name_servers.command()
@click.argument("name", metavar="SET")
@click.argument("zone")
def parent(session: Session, name: str, zone: str) -> None:
    """Check the delegation and the glue at the parent.

    Exit code 1 means that the check found a problem.
    """
    found = session.client.send("POST", f"{_SETS}/{_find_set(session, name)['id']}/addresses/{zone}/parent")
    _show_place(session, found)
    if any(each["verdict"] != "fine" for each in found["parent"]):
        raise click.exceptions.Exit(1)


def _show_place(session: Session, place: Mapping[str, Any]) -> None:
    told = [line for each in place["parent"] for line in (each["message"], *(f"  {part}" for part in each["lines"]))]
    details = {"zone": place["zone"], "glue": _glue(place).split("; "), "refusal": place["refusal"] or None}
    session.show(place, {**details, "parent": told or None})
    if place["refusal"]:
        raise click.exceptions.Exit(1)


def _glue(place: Mapping[str, Any]) -> str:
    return "; ".join(" ".join([each["name"], *each["addresses"]]) for each in place["names"])


def _body(servers: Sequence[str], told: Mapping[str, Any]) -> dict[str, Any]:
    body = {option: value for option, value in told.items() if value is not None}
    return {**body, "servers": list(map(_server, servers))} if servers else body


def _server(text: str) -> dict[str, Any]:
    name, *rest = text.split(",")
    nodes = [each.removeprefix(_NODE) for each in rest if each.startswith(_NODE)]
    return {"name": name, "addresses": [each for each in rest if not each.startswith(_NODE)], "nodes": nodes}


def _show(session: Session, found: Mapping[str, Any]) -> None:
    lines = [
        " ".join([each["name"], *each["addresses"], *(f"{_NODE}{node}" for node in each["nodes"])])
        for each in found["servers"]
    ]
    session.show(found, {**found, "servers": lines})


def _find_set(session: Session, name: str) -> Mapping[str, Any]:
    """Return the set with this name or id. Raise UsageError if no set matches."""
    return session.find_one(_SETS, name, "set")
