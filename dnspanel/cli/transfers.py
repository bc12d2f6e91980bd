"""`dnspanel transfers`: who transfers a zone without a key, and who is told of its changes besides secondaries."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.zone_paths import zone_path

_NOTICES = (
    Column("ADDRESS", "address"),
    Column("TOLD", lambda row: output.moment(row["notified_at"])),
    Column("SET", lambda row: output.moment(row["set_at"])),
    output.by("set_by"),
    Column("ERROR", "error"),
)


@click.group()
def transfers() -> None:
    """Transfers of a zone without a key, and NOTIFY to addresses that are no secondaries."""


@transfers.command()
@click.argument("zone")
@shared_options
@pass_session
def show(session: Session, zone: str) -> None:
    """Show who transfers a zone without a key, and who is told of its changes."""
    _show(session, session.client.get(zone_path(zone, "keyless-transfers")))


@transfers.command()
@click.argument("zone")
@shared_options
@pass_session
def told(session: Session, zone: str) -> None:
    """List the addresses that are told of changes, and how NOTIFY went."""
    found = session.client.get(zone_path(zone, "keyless-transfers"))
    session.show_rows(found["notices"], _NOTICES, none="No address.")


@transfers.command("set")
@click.argument("zone")
@click.option("--from", "networks", multiple=True, metavar="NETWORK", help="All from where it is transferred.")
@click.option("--notify", "addresses", multiple=True, metavar="ADDRESS", help="All that get NOTIFY.")
@click.option("--from-nobody", is_flag=True, help="Nobody transfers it without a key.")
@click.option("--notify-nobody", is_flag=True, help="Secondaries alone get NOTIFY.")
@shared_options
@pass_session
def set_transfers(
    session: Session,
    zone: str,
    networks: tuple[str, ...],
    addresses: tuple[str, ...],
    from_nobody: bool,
    notify_nobody: bool,
) -> None:
    """Change who transfers a zone without a key, and who is told; what is not named stays.

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
