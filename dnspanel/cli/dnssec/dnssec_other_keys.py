"""The command `dnspanel dnssec other-key`, which manages the keys of a zone's other signers."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.written import Writing, publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

_COLUMNS = (
    Column("TAG", "tag", right=True),
    Column("FLAGS", "flags", right=True),
    Column("ALGORITHM", "algorithm_name"),
    Column("DNSKEY", "dnskey"),
)


@click.group("other-key", cls=Commands)
def other_key() -> None:
    """Manage keys of other signers of a zone (RFC 8901)."""


@other_key.command("list")
@click.argument("zone")
def list_keys(session: Session, zone: str) -> None:
    """List the keys of other signers of a zone."""
    session.show_rows(
        session.client.items(zone_path(zone, "dnssec", "other-keys")), _COLUMNS, none="No keys of other signers."
    )


@other_key.command()
@click.argument("zone")
@click.argument("dnskey", nargs=-1, required=True)
@writing_options
def add(session: Session, zone: str, dnskey: tuple[str, ...], **how: Any) -> None:
    """Publish a key of another signer.

    DNSKEY is a full record, or only its rdata.

    \b
    Example:
      dnspanel dnssec other-key add example.net 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0d...
    """
    text = " ".join(dnskey)
    if "DNSKEY" not in text.upper().split():
        text = f"{zone.rstrip('.')}. IN DNSKEY {text}"
    _write(session, "POST", zone_path(zone, "dnssec", "other-keys"), {"dnskey": text}, **how)


@other_key.command()
@click.argument("zone")
@click.argument("tag", type=click.IntRange(0, 65535))
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@writing_options
def remove(session: Session, zone: str, tag: int, *, yes: bool, writing: Writing) -> None:
    """Remove a key of another signer.

    Make sure that the other signer no longer uses the key.
    """
    if not (yes or writing.dry_run):
        session.ask(f"Remove key {tag} of another signer from {zone}?")
    _write(session, "DELETE", zone_path(zone, "dnssec", "other-keys", tag), None, writing=writing)


def _write(session: Session, method: str, path: str, body: Mapping[str, Any] | None, *, writing: Writing) -> None:
    query = {"reason": writing.reason} if writing.reason else {}
    show_written(
        session,
        publish(session, method, path, body, query=query, waiting=writing),
        waited=writing.wait,
        verb="Changed the keys of",
    )
