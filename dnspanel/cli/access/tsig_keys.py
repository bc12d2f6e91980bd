"""The command `dnspanel tsig-keys`, which manages keys that sign dynamic updates and zone transfers."""

from pathlib import Path
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.access import tokens
from dnspanel.cli.output import Column
from dnspanel.cli.passphrase import FILE, only_line_of
from dnspanel.cli.session import C, Commands, Session

ALGORITHMS = ("hmac-sha256", "hmac-sha512", "hmac-sha384", "hmac-sha224", "hmac-sha1", "hmac-md5")
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("ALGORITHM", "algorithm"),
    Column("PURPOSE", "purpose"),
    Column("STATE", "state"),
    Column("EXPIRES", lambda row: output.moment(row["expires_at"])),
    Column("LAST USED", lambda row: output.moment(row["last_used_at"])),
    Column("FROM", "last_address"),
)
_number = click.argument("number", metavar="ID", type=click.IntRange(min=1))
# A TSIG key is a kind of token, so the same options set its rights.
_TERMS = {"zones", "tags", "everywhere", "rights", "names", "types", "permissions", "networks", "days", "unused_days"}


def _term_options(command: C) -> C:
    assert isinstance(command, click.Command)
    command.params += [each for each in tokens.create.params if each.name in _TERMS]
    return command


@click.group("tsig-keys", cls=Commands)
def tsig_keys() -> None:
    """Manage TSIG keys, which sign updates and transfers."""


@tsig_keys.command("list")
def list_keys(session: Session) -> None:
    """List the TSIG keys that this token can see, newest first."""
    session.show_rows(session.client.items("/tsig-keys"), _LISTED, none="No TSIG keys.")


@tsig_keys.command()
@_number
def show(session: Session, number: int) -> None:
    """Show a TSIG key without its secret."""
    found = session.client.get(f"/tsig-keys/{number}")
    details = {name: found[name] for name in ("id", "name", "algorithm", "purpose", "state")}
    scopes = {f"scope {place}": tokens.scope_text(scope) for place, scope in enumerate(found["scope"], 1)}
    session.show(found, {**details, "expires": output.moment(found["expires_at"]), **scopes})


@_term_options
@tsig_keys.command()
@click.argument("name")
@click.option("--purpose", help="Purpose of the key in lists.  [default: the name]")
@click.option(
    "--algorithm", type=click.Choice(ALGORITHMS), default=ALGORITHMS[0], show_default=True, help="Algorithm of the key."
)
@click.option("--secret-file", type=FILE, help="File with the secret (one line, Base64); - is standard input.")
def create(
    session: Session, name: str, purpose: str | None, algorithm: str, secret_file: Path | None, **terms: Any
) -> None:
    """Create a TSIG key and print its secret once.

    \b
    Examples:
      dnspanel tsig-keys create ddns.example --zone example.net --right read --right add --right remove
      dnspanel tsig-keys create transfer.example --everywhere --right read --network 192.0.2.0/24
    """
    body: dict[str, Any] = {
        "name": name,
        "purpose": purpose or name,
        "algorithm": algorithm,
        **tokens.terms_of(**terms),
    }
    if secret_file is not None:
        body["key"] = only_line_of(secret_file, "a secret")
    made = session.client.send("POST", "/tsig-keys", body)
    details = {"id": made["id"], "name": made["name"], "algorithm": made["algorithm"]}
    session.show(made, {**details, "expires": output.moment(made["expires_at"]), "secret": made["key"]})


@tsig_keys.command()
@_number
def revoke(session: Session, number: int) -> None:
    """Revoke a TSIG key.

    From now on, messages signed with the key are refused.
    """
    session.client.send("DELETE", f"/tsig-keys/{number}")
    session.say_done(f"Revoked TSIG key {number}.", id=number, revoked=True)
