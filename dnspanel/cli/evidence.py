"""`dnspanel evidence`: where the audit log is sent. Secrets come from files: of a command line everybody can read."""

from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import FILE, text_of
from dnspanel.cli.session import Session, options, pass_session, shared_options

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


# The options of what only the panel and the destination know.
_secrets = options(
    click.option("--certificate-file", type=FILE, help="PEM, by which the panel shows who it is there."),
    click.option("--key-file", type=FILE, help="Its private key, PEM."),
    click.option("--headers-file", type=FILE, help="Of OpenTelemetry: lines “Name: value”."),
)


@click.group()
def evidence() -> None:
    """Where the audit log is sent: list, add, change, rotate secrets, test, switch, delete."""


@evidence.command("list")
@shared_options
@pass_session
def list_destinations(session: Session) -> None:
    """List the destinations, with how far each is."""
    rows = session.client.items("/evidence-destinations")
    session.show_rows(rows, _LISTED, none="The audit log stays in the panel.")


@evidence.command()
@_number
@shared_options
@pass_session
def show(session: Session, number: int) -> None:
    """Show a destination, and what is wrong with it."""
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
@click.option("--ca-file", type=FILE, help="PEM: whom the panel believes there. Else those that its system knows.")
@click.option("--from-beginning", is_flag=True, help="Send the log from its first act on.")
@_secrets
@shared_options
@pass_session
def add(session: Session, name: str, kind: str, address: str, from_beginning: bool, **files: Path | None) -> None:
    """Send the audit log to ADDRESS: a host and port for syslog, a URL for OpenTelemetry (otlp).

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
@click.option("--name", help="What it is called.")
@click.option("--address", help="Where it is; headers have to be given again for another host.")
@click.option("--ca-file", type=FILE, help="PEM: whom the panel believes there.")
@click.option("--from-beginning", is_flag=True, help="Send the log from its first act on again.")
@shared_options
@pass_session
def change(
    session: Session,
    number: int,
    name: str | None,
    address: str | None,
    ca_file: Path | None,
    from_beginning: bool,
) -> None:
    """Change a destination, from the next batch on; `rotate` is for its secrets."""
    given: dict[str, Any] = {"name": name, "address": address, **_contents({"ca_file": ca_file})}
    given = {name: value for name, value in given.items() if value is not None}
    if from_beginning:
        given["from_beginning"] = True
    _change(session, number, given)


@evidence.command()
@_number
@click.option("--without-headers", is_flag=True, help="Forget the headers that are stored.")
@_secrets
@shared_options
@pass_session
def rotate(session: Session, number: int, without_headers: bool, **files: Path | None) -> None:
    """Use another key with its certificate, or other headers, from the next batch on."""
    given = _contents(files)
    if without_headers:
        given["headers"] = ""
    _change(session, number, given)


@evidence.command("test")
@_number
@shared_options
@pass_session
@click.pass_context
def try_destination(context: click.Context, session: Session, number: int) -> None:
    """Send a test message; the exit code is 1 if it did not arrive."""
    found = session.client.send("POST", f"/evidence-destinations/{number}/test")
    session.show(found, {"arrived": found["arrived"], "error": found["error"]})
    if not found["arrived"]:
        context.exit(1)


@evidence.command()
@_number
@click.argument("state", type=click.Choice(["on", "off"]))
@shared_options
@pass_session
def switch(session: Session, number: int, state: str) -> None:
    """Switch a destination on or off; what is done while it is off waits."""
    _change(session, number, {"active": state == "on"})


@evidence.command()
@_number
@shared_options
@pass_session
def delete(session: Session, number: int) -> None:
    """Delete a destination; what it has stays there."""
    session.client.send("DELETE", f"/evidence-destinations/{number}")
    session.done(f"Destination {number} deleted.", id=number, deleted=True)


def _change(session: Session, number: int, given: dict[str, Any]) -> None:
    if not given:
        raise click.UsageError("Say what changes.")
    changed = session.client.send("PATCH", f"/evidence-destinations/{number}", given)
    session.show(changed, {"id": changed["id"], "name": changed["name"], "state": changed["progress"]["state"]})


def _contents(files: dict[str, Path | None]) -> dict[str, Any]:
    """The members of a body that these files hold, by the option without its `_file`."""
    return {name.removesuffix("_file"): text_of(path) for name, path in files.items() if path is not None}
