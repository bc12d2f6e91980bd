"""The commands `dnspanel tokens` and `dnspanel whoami`, which manage API tokens and show the token's rights."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from dnspanel import __version__
from dnspanel.cli import output
from dnspanel.cli.durations import Ttl
from dnspanel.cli.output import Column
from dnspanel.cli.session import Command, Commands, Session

_RIGHTS = (
    "read",
    "add",
    "change",
    "remove",
    "create-zone",
    "delete-zone",
    "settings",
    "dnssec",
    "templates",
    "export-keys",
    "govern",
)
_LISTED = (
    Column("ID", "id", right=True),
    Column("PURPOSE", "purpose"),
    Column("PREFIX", "prefix"),
    Column("STATE", "state", state=True),
    Column("EXPIRES", lambda row: output.moment(row["expires_at"])),
    Column("LAST USED", lambda row: output.moment(row["last_used_at"])),
    Column("FROM", "last_address"),
)


@click.group(cls=Commands)
def tokens() -> None:
    """Manage API tokens."""


@tokens.command("list")
def list_tokens(session: Session) -> None:
    """List the tokens that this token can see, newest first."""
    session.show_rows(session.client.items("/tokens"), _LISTED, none="No tokens.")


@tokens.command()
@click.argument("purpose")
@click.option("--zone", "zones", multiple=True, help="Zone that the token can use. Repeat for several.")
@click.option("--tag", "tags", multiple=True, help="Tag of zones that the token can use. Repeat for several.")
@click.option("--everywhere", is_flag=True, help="Let the token use all zones.")
@click.option(
    "--right",
    "rights",
    multiple=True,
    type=click.Choice(_RIGHTS),
    default=("read",),
    show_default=True,
    help="Right of the token in the zones. Repeat for several.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="Limit the token to this owner name, such as _acme-challenge or *.dyn. Repeat for several.",
)
@click.option("--type", "types", multiple=True, help="Limit the token to this record type. Repeat for several.")
@click.option(
    "--permission", "permissions", multiple=True, help="Permission outside of zones, such as fleet. Repeat for several."
)
@click.option(
    "--network",
    "networks",
    multiple=True,
    help="Limit the token to this network, such as 192.0.2.0/24. Repeat for several.",
)
@click.option("--days", type=click.IntRange(1, 3650), help="Expires after this many days.  [default: 90]")
@click.option("--unused-days", type=click.IntRange(1, 3650), help="Expires after this many days without use.")
def create(session: Session, purpose: str, **terms: Any) -> None:
    """Create a token and print its secret once.

    A token cannot do more than the token that creates it.

    \b
    Examples:
      dnspanel tokens create "CI of example.net" --zone example.net --right read --right add --right remove
      dnspanel tokens create "certificate of www" --zone example.net --right read --right add --right remove \\
          --name _acme-challenge.www --type TXT
    """
    body = {"purpose": purpose, **terms_of(**terms)}
    made = session.client.send("POST", "/tokens", body)
    session.show(made, {"id": made["id"], "expires": output.moment(made["expires_at"]), "secret": made["secret"]})


def terms_of(
    rights: Sequence[str],
    days: int | None,
    unused_days: int | None,
    permissions: Sequence[str],
    networks: Sequence[str],
    *,
    everywhere: bool,
    **where: Sequence[str],
) -> dict[str, Any]:
    """Return the request body for a token's terms. Raise UsageError without any zones or permissions."""
    body: dict[str, Any] = {"permissions": list(permissions), "networks": list(networks)}
    if everywhere or where["zones"] or where["tags"]:
        limits = {name: list(values) for name, values in where.items()}
        body["scope"] = [{"rights": list(rights), "everywhere": everywhere, **limits}]
    elif not permissions:
        raise click.UsageError("Give --zone, --tag, --everywhere or --permission.")
    if days is not None:
        body["expires_at"] = (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    if unused_days is not None:
        body["unused_days"] = unused_days
    return body


@tokens.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option("--overlap", type=Ttl(), help="Time that the old token still works, such as 1h.  [default: 1 day]")
def rotate(session: Session, number: int, overlap: int | None) -> None:
    """Replace a token with a new one and print its secret once.

    The new token has the same rights.

    \b
    Example:
      dnspanel tokens rotate 12 --overlap 1h
    """
    body = {} if overlap is None else {"overlap_seconds": overlap}
    made = session.client.send("POST", f"/tokens/{number}/rotate", body)
    session.show(made, {"id": made["id"], "expires": output.moment(made["expires_at"]), "secret": made["secret"]})


@tokens.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
def revoke(session: Session, number: int) -> None:
    """Revoke a token.

    The token and all tokens that it created stop working at once.
    """
    session.client.send("DELETE", f"/tokens/{number}")
    session.say_done(f"Token {number} revoked.", id=number, state="revoked")


@click.command(cls=Command)
def whoami(session: Session) -> None:
    """Show the owner and the rights of the token."""
    me = session.client.get("/me")
    token = me["token"]
    details = {
        "user": me["user"],
        "role": me["role"],
        "permissions": me["permissions"],
        "token": f"{token['prefix']}… {token['purpose']}",
        "expires": output.moment(token["expires_at"]),
        "panel": me["panel_version"],
        "command": __version__,
        **{f"scope {number}": scope_text(scope) for number, scope in enumerate(me["scope"], 1)},
    }
    session.show(me, details)


def scope_text(scope: dict[str, Any]) -> str:
    """Describe one scope of a token in one line."""
    where = ["all zones"] if scope["everywhere"] else scope["zones"] + [f"tag {tag}" for tag in scope["tags"]]
    where += [f"team {team}" for team in scope["teams"]]
    limits = [f"{word} {' '.join(scope[word])}" for word in ("names", "types") if scope[word]]
    return "; ".join([", ".join(scope["rights"]), ", ".join(where) or "no zone", *limits])
