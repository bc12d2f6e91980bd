"""The command `dnspanel primaries`: manage zones that are transferred from primaries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output, written
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import FILE, only_line_of
from dnspanel.cli.session import Commands, Session, options
from dnspanel.cli.standard_input import read_text
from dnspanel.cli.waiting import Waiting
from dnspanel.cli.zone_paths import zone_path

_LISTED = (
    Column("ZONE", "zone"),
    Column("SERIAL", "serial", right=True),
    Column("CONFIRMED", lambda row: output.moment(row["confirmed_at"])),
    Column("STATE", lambda row: _state(row), state=True),
    Column("FROM", lambda row: " ".join(row["addresses"])),
    Column("ERROR", "error"),
)
_ALGORITHMS = ("hmac-sha256", "hmac-sha512", "hmac-sha384", "hmac-sha224", "hmac-sha1", "hmac-md5")

# Options for the TSIG key, for TLS, and for IXFR.
terms_options = options(
    click.option("--key", default="", metavar="NAME", help="TSIG key name for requests to the primaries."),
    click.option(
        "--algorithm",
        type=click.Choice(_ALGORITHMS),
        default=_ALGORITHMS[0],
        show_default=True,
        help="Algorithm of the TSIG key.",
    ),
    click.option("--secret-file", type=FILE, metavar="FILE", help="File with the TSIG secret (one line, Base64)."),
    click.option(
        "--tls", is_flag=True, help="Transfer only over TLS (RFC 9103), on port 853 unless ADDRESS has another port."
    ),
    click.option(
        "--tls-name",
        "tls_names",
        multiple=True,
        metavar="NAME",
        help="Name in the certificate. Give one for all primaries, or one for each in order.",
    ),
    click.option(
        "--tls-certificates",
        type=FILE,
        metavar="FILE",
        help="PEM file with the authorities of the primaries, or with the certificates, without --tls-name.",
    ),
    click.option(
        "--show-certificate",
        is_flag=True,
        help="Show the client certificate of the panel to primaries that ask for one.",
    ),
    click.option("--no-ixfr", is_flag=True, help="Always transfer the full zone."),
)

# The reason why a zone gets another primary, and the option to override rules.
_saying = options(
    click.option("--reason", default="", help="Reason for other people and the audit log."),
    click.option(
        "--past-rules",
        is_flag=True,
        help="Override approval rules and freezes. Requires --reason and the right `govern` on the zone.",
    ),
)


@click.group(cls=Commands)
def primaries() -> None:
    """Manage zones that are transferred from primaries."""


@primaries.command("list")
@click.option("--failing", is_flag=True, help="Show only zones that fail to transfer.")
def list_transferred(session: Session, *, failing: bool) -> None:
    """List the zones that are transferred from primaries.

    Zones that the panel took over are listed too.
    """
    query = {"failing": "true"} if failing else {}
    session.show_rows(session.client.items("/transferred-zones", **query), _LISTED, none="No zones.")


@primaries.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show the primaries of a zone and the last transfer."""
    found = session.client.get(zone_path(zone, "primaries"))
    moments = {name: output.moment(found[name]) for name in found if name.endswith("_at") or name == "failed_since"}
    session.show(
        found,
        {**found, **moments, "addresses": " ".join(found["addresses"]), "tls_names": " ".join(found["tls_names"])},
    )


@primaries.command()
@click.argument("zone")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@click.option("--team", type=int, help="Id of the team that owns the zone.")
@terms_options
@written.dry_run_option
def create(
    session: Session, zone: str, addresses: tuple[str, ...], team: int | None, *, dry_run: bool, **terms: Any
) -> None:
    """Create a zone that is transferred from primaries.

    \b
    Examples:
      dnspanel primaries create example.net 192.0.2.53 198.51.100.53:5300
      dnspanel primaries create example.net 192.0.2.53 --key transfer.example.net --secret-file key.txt
      dnspanel primaries create example.net 192.0.2.53 --tls --tls-name ns1.example.net
    """
    body = {"name": zone, **({"team": team} if team else {}), **body_of_primaries(addresses, **terms)}
    _show_primaries(
        session, written.send_write(session, "POST", "/transferred-zones", body, dry_run=dry_run), dry_run=dry_run
    )


@primaries.command("set")
@click.argument("zone")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@terms_options
@_saying
@written.dry_run_option
def set_primaries(
    session: Session,
    zone: str,
    addresses: tuple[str, ...],
    reason: str,
    *,
    past_rules: bool,
    dry_run: bool,
    **terms: Any,
) -> None:
    """Set the primaries of a zone.

    The next transfer replaces all records of the zone.
    """
    body = {**body_of_primaries(addresses, **terms), **_override(reason, past_rules=past_rules)}
    found = written.send_write(session, "PUT", zone_path(zone, "primaries"), body, dry_run=dry_run)
    _show_primaries(session, found, dry_run=dry_run)


@primaries.command()
@click.argument("zone")
@click.option("--all", "wants_all", is_flag=True, help="Transfer the full zone, even if the serial is the same.")
def retrieve(session: Session, zone: str, *, wants_all: bool) -> None:
    """Transfer a zone from its primaries now."""
    found = session.client.send("POST", zone_path(zone, "primaries", "transfer"), {"all": wants_all})
    session.show(found, {"zone": found["zone"], "asked": " ".join(found["addresses"])})


@primaries.command("take-over")
@click.argument("zone")
@_saying
@written.dry_run_option
@written.waiting_options
def take_over(session: Session, zone: str, reason: str, *, past_rules: bool, dry_run: bool, waiting: Waiting) -> None:
    """Make this panel the primary of a zone.

    From then on the zone is edited and published here.
    """
    path, body = zone_path(zone, "primaries", "take-over"), _override(reason, past_rules=past_rules)
    how = written.Writing(waiting.wait, waiting.timeout, dry_run=dry_run)
    written.show_written(session, written.publish(session, "POST", path, body, waiting=how), waited=how.wait)


@primaries.command("give-back")
@click.argument("zone")
@_saying
@written.dry_run_option
def give_back(session: Session, zone: str, reason: str, *, past_rules: bool, dry_run: bool) -> None:
    """Transfer a zone from its old primaries again.

    The transfer replaces changes that were made in the panel.
    """
    path, body = zone_path(zone, "primaries", "give-back"), _override(reason, past_rules=past_rules)
    _show_primaries(session, written.send_write(session, "POST", path, body, dry_run=dry_run), dry_run=dry_run)


def body_of_primaries(
    addresses: tuple[str, ...], *, key: str, algorithm: str, secret_file: Path | None, no_ixfr: bool, **tls: Any
) -> Any:
    """Return the request body with the primaries, their TSIG key and their TLS settings."""
    terms: dict[str, Any] = {"addresses": list(addresses), "uses_ixfr": not no_ixfr, **_of_tls(**tls)}
    if key:
        terms |= {"tsig_name": key, "tsig_algorithm": algorithm}
    if secret_file is not None:
        terms["tsig_secret"] = only_line_of(secret_file, "a secret")
    return terms


def _show_primaries(session: Session, found: Mapping[str, Any], *, dry_run: bool) -> None:
    """Show a zone's primaries, or after a dry run, the primaries that the zone would have."""
    session.show(found, {"zone": found["zone"], "from": " ".join(found["addresses"]), "state": _state(found)})
    written.tell_dry_run(session, dry_run=dry_run)


def _override(reason: str, *, past_rules: bool) -> dict[str, Any]:
    """Return the request body for the options reason and past_rules. Omit options that are not given."""
    return {**({"reason": reason} if reason else {}), **({"past_rules": True} if past_rules else {})}


def _of_tls(*, tls: bool, tls_names: tuple[str, ...], tls_certificates: Path | None, show_certificate: bool) -> Any:
    return {
        "uses_tls": tls,
        "tls_names": list(tls_names),
        "tls_certificates": "" if tls_certificates is None else read_text(tls_certificates),
        "shows_certificate": show_certificate,
    }


def _state(row: Any) -> str:
    if not row["elsewhere"]:
        return "taken over"
    if row["serial"] is None:
        return "failing" if row["error"] else "awaited"
    if not row["is_served"]:
        return "expired"
    return "failing" if row["failed_since"] else "in step"
