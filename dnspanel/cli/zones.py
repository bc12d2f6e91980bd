"""`dnspanel zones`: list, look, create, delete, bring back, and go back in history."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.written import publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

_LISTED = (
    Column("ZONE", "name"),
    Column("SERIAL", "serial", right=True),
    Column("REVISION", "revision", right=True),
    Column("RRSETS", "rrset_count", right=True),
    Column("CHANGED", lambda row: output.moment(row["changed_at"])),
    Column("BY", "changed_by"),
    Column("TAGS", "tags"),
)
_HISTORY = (
    Column("REVISION", "revision", right=True),
    Column("AT", lambda row: output.moment(row["at"])),
    Column("BY", "author"),
    Column("VIA", "channel"),
    Column("ACT", "kind"),
    Column("ADDED", "added", right=True),
    Column("CHANGED", "changed", right=True),
    Column("REMOVED", "removed", right=True),
    Column("REASON", "reason"),
)


@click.group()
def zones() -> None:
    """Zones: list, create, delete, and their history."""


@zones.command("list")
@click.option(
    "-q", "--search", help="As in the search box: words of the name, and filters such as type:mx or tag:shop."
)
@click.option("--tag", help="Zones with this tag.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@shared_options
@pass_session
def list_zones(session: Session, search: str | None, tag: str | None, limit: int | None) -> None:
    """List zones by name.

    \b
    Examples:
      dnspanel zones list
      dnspanel zones list -q has:192.0.2.7 --output json
    """
    found = session.client.items("/zones", q=search, tag=tag, limit=min(limit or 1000, 1000))
    rows = found if limit is None else (row for _, row in zip(range(limit), found, strict=False))
    session.show_rows(rows, _LISTED, none="No zone.")


@zones.command()
@click.argument("zone")
@shared_options
@pass_session
def show(session: Session, zone: str) -> None:
    """Show a zone; its records are in `dnspanel records list`."""
    found = session.client.get(zone_path(zone))
    session.show(found, {**found, "changed_at": output.moment(found["changed_at"])})


@zones.command()
@click.argument("zone")
@click.option("--nameserver", "nameservers", multiple=True, help="Once for each; else the panel's defaults.")
@click.option("--hostmaster", help="The mailbox of the SOA, as a name; else the panel's default.")
@click.option("--team", type=int, help="Id of the team that it belongs to.")
@writing_options
@shared_options
@pass_session
def create(session: Session, zone: str, wait: bool, timeout: int, **told: Any) -> None:
    """Create a zone.

    \b
    Examples:
      dnspanel zones create example.net --wait
      dnspanel zones create example.net --nameserver ns1.example.net. --nameserver ns2.example.net.
    """
    told["nameservers"] = list(told["nameservers"])
    body = {"name": zone, **{name: value for name, value in told.items() if value}}
    show_written(session, publish(session, "POST", "/zones", body, wait=wait, timeout=timeout), waited=wait)


@zones.command()
@click.argument("source")
@click.argument("names", metavar="NEW...", nargs=-1, required=True)
@click.option("--tags", is_flag=True, help="Its tags too.")
@click.option("--team", type=int, help="Id of the team that the new zones belong to.")
@writing_options
@shared_options
@pass_session
def clone(session: Session, source: str, names: tuple[str, ...], wait: bool, timeout: int, **told: Any) -> None:
    """Create zones with the records of SOURCE: all of them in one publication, or none.

    Names inside of SOURCE become names inside of the new zone, also where records point at them. Keys, signatures and
    DS are not copied.

    \b
    Examples:
      dnspanel zones clone example.net shop.example --wait
      dnspanel zones clone template.test a.test b.test --tags
    """
    body = {"names": list(names), **{name: value for name, value in told.items() if value}}
    written = publish(session, "POST", zone_path(source, "clones"), body, wait=wait, timeout=timeout)
    show_written(session, written, waited=wait)


@zones.command()
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm", is_flag=True, help="Delete them though they are many.")
@writing_options
@shared_options
@pass_session
def delete(
    session: Session, zones: tuple[str, ...], yes: bool, confirm: bool, wait: bool, timeout: int, reason: str
) -> None:
    """Delete zones: all of them in one publication, or none. They lie in the trash for 30 days."""
    found = [session.client.get(zone_path(zone)) for zone in zones]
    if not yes:
        rrsets = sum(zone["rrset_count"] for zone in found)
        what = found[0]["name"] if len(found) == 1 else f"{len(found)} zones"
        click.confirm(f"Delete {what} with {rrsets} RRsets?", abort=True, err=True)
    body = {
        "zones": [{"zone": zone["name"], "at_revision": zone["revision"]} for zone in found],
        "reason": reason,
        "confirm": confirm,
    }
    written = publish(session, "POST", "/bulk/deletions", body, wait=wait, timeout=timeout)
    show_written(session, written, waited=wait)


@zones.command()
@click.argument("zone")
@writing_options
@shared_options
@pass_session
def restore(session: Session, zone: str, wait: bool, timeout: int, reason: str) -> None:
    """Bring a deleted zone back; ZONE is its name, or its id in the trash if several had that name."""
    canonical = zone.lower().rstrip(".") + "."
    found = [row for row in session.client.items("/trash") if canonical in {row["name"], f"{row['id']}."}]
    if not found:
        raise Refused({"code": "not-found", "detail": f"There is no zone {zone} in the trash."})
    if len(found) > 1:
        ids = ", ".join(f"{row['id']} (deleted {output.moment(row['deleted_at'])})" for row in found)
        raise click.UsageError(f"Several zones in the trash were named {zone}; give one of the ids {ids}.")
    query = {"reason": reason} if reason else {}
    path = f"/trash/{found[0]['id']}/restore"
    show_written(session, publish(session, "POST", path, query=query, wait=wait, timeout=timeout), waited=wait)


@zones.command()
@click.argument("zone")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The newest so many.")
@shared_options
@pass_session
def history(session: Session, zone: str, limit: int) -> None:
    """List what was published in a zone, the newest first."""
    rows = session.client.get(zone_path(zone, "revisions"), limit=limit)["items"]
    session.show_rows(rows, _HISTORY, none="No revision.")


@zones.command()
@click.argument("zone")
@click.argument("revision", type=click.IntRange(min=1))
@click.option("--confirm", is_flag=True, help="Do it though so much is deleted.")
@writing_options
@shared_options
@pass_session
def undo(session: Session, zone: str, revision: int, confirm: bool, wait: bool, timeout: int, reason: str) -> None:
    """Take back one revision of a zone; refused where others changed the same records since.

    \b
    Example:
      dnspanel zones history example.net
      dnspanel zones undo example.net 12
    """
    body = {"reason": reason, "confirm": confirm}
    path = zone_path(zone, "revisions", revision, "undo")
    show_written(session, publish(session, "POST", path, body, wait=wait, timeout=timeout), waited=wait)
