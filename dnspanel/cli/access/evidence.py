"""The command `dnspanel evidence`, which manages destinations of the audit log.

Secrets are read from files, because every user of the machine can read command lines.
"""

from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import FILE
from dnspanel.cli.session import Commands, Session, options
from dnspanel.cli.standard_input import read_text

_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("KIND", "kind"),
    Column("ADDRESS", "address"),
    Column("STATE", lambda row: row["progress"]["state"], state=True),
    Column("SENT UP TO", lambda row: row["progress"]["sent_to"], right=True),
    Column("BEHIND BY", lambda row: row["progress"]["behind"], right=True),
    Column("LAST SENT", lambda row: output.moment(row["progress"]["sent_at"])),
)
_number = click.argument("number", metavar="ID", type=click.IntRange(min=1))


# The secrets, which only the panel and the destination know.
_secrets = options(
    click.option("--certificate-file", type=FILE, help="PEM file with the client certificate of the panel."),
    click.option("--key-file", type=FILE, help="PEM file with the private key of the client certificate."),
    click.option("--headers-file", type=FILE, help="File with HTTP headers for OpenTelemetry, as lines “Name: value”."),
)


@click.group(cls=Commands)
def evidence() -> None:
    """Manage the destinations of the audit log."""


@evidence.command("list")
def list_destinations(session: Session) -> None:
    """List the destinations and the progress of each."""
    rows = session.client.items("/evidence-destinations")
    session.show_rows(rows, _LISTED, none="No destinations yet. The audit log stays in the panel.")


@evidence.command()
@_number
def show(session: Session, number: int) -> None:
    """Show a destination and its last error."""
    found = session.client.get(f"/evidence-destinations/{number}")
    progress = found["progress"]
    details = {
        "name": found["name"],
        "kind": found["kind"],
        "address": found["address"],
        "state": progress["state"],
        "sent up to": progress["sent_to"],
        "behind by": progress["behind"],
        "last sent": output.moment(progress["sent_at"]),
        "failing since": output.moment(progress["failing_since"]),
        "error": progress["error"],
        "would not keep": progress["rejected"],
    }
    session.show(found, details)


@evidence.command()
@click.argument("name")
@click.argument("kind", type=click.Choice(["syslog", "otlp"]))
@click.argument("address")
@click.option(
    "--ca-file", type=FILE, help="PEM file with the authorities to trust; the default is the authorities of the system."
)
@click.option("--from-beginning", is_flag=True, help="Send the log from the first entry on.")
@_secrets
def add(session: Session, name: str, kind: str, address: str, *, from_beginning: bool, **files: Path | None) -> None:
    """Send the audit log to another system.

    ADDRESS is host:port for syslog, or a URL for OpenTelemetry (otlp).

    \b
    Examples:
      dnspanel evidence add SIEM syslog logs.example:6514 --ca-file ca.pem
      dnspanel evidence add Collector otlp https://collector.example/v1/logs --headers-file headers
    """
    body = {"name": name, "kind": kind, "address": address, "from_beginning": from_beginning, **_contents(files)}
    made = session.client.send("POST", "/evidence-destinations", body)
    session.show(made, {"id": made["id"], "sent up to": made["progress"]["sent_to"]})


@evidence.command()
@_number
@click.option("--name", help="New name of the destination.")
@click.option("--address", help="New address. Set headers again if the host changes.")
@click.option("--ca-file", type=FILE, help="PEM file with the authorities to trust.")
@click.option("--from-beginning", is_flag=True, help="Send the log from the first entry on again.")
def change(
    session: Session, number: int, name: str | None, address: str | None, ca_file: Path | None, *, from_beginning: bool
) -> None:
    """Change a destination of the audit log.

    The change applies from the next batch. Use `rotate` to change secrets.
    """
    given: dict[str, Any] = {"name": name, "address": address, **_contents({"ca_file": ca_file})}
    given = {name: value for name, value in given.items() if value is not None}
    if from_beginning:
        given["from_beginning"] = True
    _change(session, number, given)


@evidence.command()
@_number
@click.option("--without-headers", is_flag=True, help="Delete the stored headers.")
@_secrets
def rotate(session: Session, number: int, *, without_headers: bool, **files: Path | None) -> None:
    """Change the key, certificate or headers of a destination.

    The change applies from the next batch.
    """
    given = _contents(files)
    if without_headers:
        given["headers"] = ""
    _change(session, number, given)


@evidence.command("test")
@_number
@click.pass_context
def try_destination(context: click.Context, session: Session, number: int) -> None:
    """Send a test message to a destination.

    Exit code 1 means that the message did not arrive.
    """
    found = session.client.send("POST", f"/evidence-destinations/{number}/test")
    session.show(found, {"arrived": found["arrived"], "error": found["error"]})
    if not found["arrived"]:
        context.exit(1)


@evidence.command()
@_number
@click.argument("state", type=click.Choice(["on", "off"]))
def switch(session: Session, number: int, state: str) -> None:
    """Turn a destination on or off.

    While a destination is off, entries wait.
    """
    _change(session, number, {"active": state == "on"})


@evidence.command()
@_number
def delete(session: Session, number: int) -> None:
    """Delete a destination of the audit log.

    Entries that were already sent stay at the destination.
    """
    session.client.send("DELETE", f"/evidence-destinations/{number}")
    session.say_done(f"Destination {number} deleted.", id=number, deleted=True)


def _change(session: Session, number: int, given: dict[str, Any]) -> None:
    if not given:
        raise click.UsageError("Give at least one option to change.")
    changed = session.client.send("PATCH", f"/evidence-destinations/{number}", given)
    session.show(changed, {"id": changed["id"], "name": changed["name"], "state": changed["progress"]["state"]})


def _contents(files: dict[str, Path | None]) -> dict[str, Any]:
    """Return the contents of these files, keyed by option name without `_file`. Skip options that are not given."""
    return {name.removesuffix("_file"): read_text(path) for name, path in files.items() if path is not None}
