"""The command `dnspanel transfers`: show and set who can transfer a zone without a key, and extra NOTIFY targets."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.zone_paths import zone_path

_NOTICES = (
    output.Column("ADDRESS", "address"),
    output.Column("NOTIFIED", lambda row: output.moment(row["notified_at"])),
    output.Column("SET", lambda row: output.moment(row["set_at"])),
    output.by("set_by"),
    output.Column("ERROR", "error"),
)


@click.group(cls=Commands)
def transfers() -> None:
    """Manage transfers without a key, and extra NOTIFY."""


@transfers.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show who can transfer a zone without a key.

    Also shows the addresses that get NOTIFY in addition to secondaries.
    """
    _show(session, session.client.get(zone_path(zone, "keyless-transfers")))


@transfers.command()
@click.argument("zone")
def told(session: Session, zone: str) -> None:
    """List the extra NOTIFY addresses with their last results."""
    found = session.client.get(zone_path(zone, "keyless-transfers"))
    session.show_rows(found["notices"], _NOTICES, none="No addresses.")


@transfers.command("set")
@click.argument("zone")
@click.option(
    "--from",
    "networks",
    multiple=True,
    metavar="NETWORK",
    help="Network that can transfer the zone. Repeat for several; other networks are removed.",
)
@click.option(
    "--notify",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="Address that gets NOTIFY. Repeat for several; other addresses are removed.",
)
@click.option("--from-nobody", is_flag=True, help="Let no one transfer the zone without a key.")
@click.option("--notify-nobody", is_flag=True, help="Send NOTIFY only to secondaries.")
def set_transfers(
    session: Session,
    zone: str,
    networks: tuple[str, ...],
    addresses: tuple[str, ...],
    *,
    from_nobody: bool,
    notify_nobody: bool,
) -> None:
    """Set who can transfer a zone without a key.

    Settings without an option don't change.

    \b
    Examples:
      dnspanel transfers set example.net --from 192.0.2.0/24 --notify 192.0.2.53
      dnspanel transfers set example.net --from-nobody
    """
    path = zone_path(zone, "keyless-transfers")
    there = session.client.get(path)
    body = {name: there[name] for name in ("networks", "addresses")}
    if networks or from_nobody:
        body["networks"] = list(networks)
    if addresses or notify_nobody:
        body["addresses"] = list(addresses)
    _show(session, session.client.send("PUT", path, body))


def _show(session: Session, found: Any) -> None:
    session.show(
        found,
        {
            "from": " ".join(found["networks"]) or "nobody",
            "set": " ".join(filter(None, [output.moment(found["set_at"]), output.actor(found["set_by"])])),
            "NOTIFY to": " ".join(found["addresses"]) or "secondaries alone",
        },
    )
