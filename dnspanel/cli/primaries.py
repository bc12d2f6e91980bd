"""`dnspanel primaries`: zones that come from elsewhere."""

from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import FILE, only_line_of, text_of
from dnspanel.cli.session import Session, options, pass_session, shared_options
from dnspanel.cli.written import publish, show_written, waiting_options
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

# The options of a key, of TLS, and whether only changes are asked for.
terms_options = options(
    click.option("--key", default="", metavar="NAME", help="Of the TSIG key by which they are asked."),
    click.option(
        "--algorithm",
        type=click.Choice(_ALGORITHMS),
        default=_ALGORITHMS[0],
        show_default=True,
        help="Of that key.",
    ),
    click.option("--secret-file", type=FILE, metavar="FILE", help="Has the key's secret, in Base64, as one line."),
    click.option("--tls", is_flag=True, help="Over TLS alone (RFC 9103), at port 853 unless an address says another."),
    click.option(
        "--tls-name",
        "tls_names",
        multiple=True,
        metavar="NAME",
        help="In their certificates: once for all primaries, or once for each, in their order.",
    ),
    click.option(
        "--tls-certificates",
        type=FILE,
        metavar="FILE",
        help="PEM: who signs their certificates, or without --tls-name these themselves.",
    ),
    click.option("--show-certificate", is_flag=True, help="Show the panel's own where a primary asks for one."),
    click.option("--no-ixfr", is_flag=True, help="Always transfer all of it."),
)

# Why a zone gets another primary, and whether that goes past rules.
_saying = options(
    click.option("--reason", default="", help="Why, for others and the audit log."),
    click.option(
        "--past-rules",
        is_flag=True,
        help="Though a rule of approval or a freeze forbids it: for who may govern the zone, with --reason.",
    ),
)


@click.group()
def primaries() -> None:
    """Zones that come from primaries elsewhere: list, create, ask, take over."""


@primaries.command("list")
@click.option("--failing", is_flag=True, help="Those to which nothing comes only.")
@shared_options
@pass_session
def list_transferred(session: Session, failing: bool) -> None:
    """List the zones that come from elsewhere, or did."""
    query = {"failing": "true"} if failing else {}
    session.show_rows(session.client.items("/transferred-zones", **query), _LISTED, none="No zone.")


@primaries.command()
@click.argument("zone")
@shared_options
@pass_session
def show(session: Session, zone: str) -> None:
    """Show where a zone comes from, and how that stands."""
    found = session.client.get(zone_path(zone, "primaries"))
    moments = {name: output.moment(found[name]) for name in found if name.endswith("_at") or name == "failed_since"}
    session.show(
        found,
        {**found, **moments, "addresses": " ".join(found["addresses"]), "tls_names": " ".join(found["tls_names"])},
    )


@primaries.command()
@click.argument("zone")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@click.option("--team", type=int, help="Id of the team that it belongs to.")
@terms_options
@shared_options
@pass_session
def create(session: Session, zone: str, addresses: tuple[str, ...], team: int | None, **terms: Any) -> None:
    """Create a zone that comes from these primaries.

    \b
    Examples:
      dnspanel primaries create example.net 192.0.2.53 198.51.100.53:5300
      dnspanel primaries create example.net 192.0.2.53 --key transfer.example.net --secret-file key.txt
      dnspanel primaries create example.net 192.0.2.53 --tls --tls-name ns1.example.net
    """
    body = {"name": zone, **({"team": team} if team else {}), **body_of_primaries(addresses, **terms)}
    found = session.client.send("POST", "/transferred-zones", body)
    session.show(found, {"zone": found["zone"], "from": " ".join(found["addresses"]), "state": _state(found)})


@primaries.command("set")
@click.argument("zone")
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@terms_options
@_saying
@shared_options
@pass_session
def set_primaries(
    session: Session, zone: str, addresses: tuple[str, ...], reason: str, past_rules: bool, **terms: Any
) -> None:
    """Have a zone come from these primaries: the next transfer replaces what it holds."""
    body = {**body_of_primaries(addresses, **terms), **_override(reason, past_rules)}
    found = session.client.send("PUT", zone_path(zone, "primaries"), body)
    session.show(found, {"zone": found["zone"], "from": " ".join(found["addresses"]), "state": _state(found)})


@primaries.command()
@click.argument("zone")
@click.option("--all", "wants_all", is_flag=True, help="All of the zone, whatever its serial.")
@shared_options
@pass_session
def retrieve(session: Session, zone: str, wants_all: bool) -> None:
    """Ask a zone's primaries now."""
    found = session.client.send("POST", zone_path(zone, "primaries", "transfer"), {"all": wants_all})
    session.show(found, {"zone": found["zone"], "asked": " ".join(found["addresses"])})


@primaries.command("take-over")
@click.argument("zone")
@_saying
@waiting_options
@shared_options
@pass_session
def take_over(session: Session, zone: str, reason: str, past_rules: bool, wait: bool, timeout: int) -> None:
    """Make this panel the primary of a zone: it is edited and published here from now on."""
    path, body = zone_path(zone, "primaries", "take-over"), _override(reason, past_rules)
    show_written(session, publish(session, "POST", path, body, wait=wait, timeout=timeout), waited=wait)


@primaries.command("give-back")
@click.argument("zone")
@_saying
@shared_options
@pass_session
def give_back(session: Session, zone: str, reason: str, past_rules: bool) -> None:
    """Have a zone that was taken over come from its primaries again; that replaces what was changed here."""
    found = session.client.send("POST", zone_path(zone, "primaries", "give-back"), _override(reason, past_rules))
    session.show(found, {"zone": found["zone"], "from": " ".join(found["addresses"]), "state": _state(found)})


def body_of_primaries(
    addresses: tuple[str, ...], *, key: str, algorithm: str, secret_file: Path | None, no_ixfr: bool, **tls: Any
) -> Any:
    """The members of a body that say from where zones come."""
    terms: dict[str, Any] = {"addresses": list(addresses), "uses_ixfr": not no_ixfr, **_of_tls(**tls)}
    if key:
        terms |= {"tsig_name": key, "tsig_algorithm": algorithm}
    if secret_file is not None:
        terms["tsig_secret"] = only_line_of(secret_file, "a secret")
    return terms


def _override(reason: str, past_rules: bool) -> dict[str, Any]:
    """What a body says of why, and of rules; nothing where neither is given."""
    return {**({"reason": reason} if reason else {}), **({"past_rules": True} if past_rules else {})}


def _of_tls(*, tls: bool, tls_names: tuple[str, ...], tls_certificates: Path | None, show_certificate: bool) -> Any:
    return {
        "uses_tls": tls,
        "tls_names": list(tls_names),
        "tls_certificates": "" if tls_certificates is None else text_of(tls_certificates),
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
