"""The command `dnspanel webhooks`, which manages webhooks (URLs and email addresses) and shows their deliveries."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session

_LISTED = (
    Column("ID", "id", right=True),
    Column("FORMAT", "format"),
    Column("URL", lambda row: row["url"] or "mail"),
    Column("EVENTS", "events"),
    Column("ACTIVE", "active"),
    Column("FAILING SINCE", lambda row: output.moment(row["failing_since"])),
    Column("DESCRIPTION", "description"),
)
_DELIVERIES = (
    Column("ID", "id", right=True),
    Column("EVENT", "event"),
    Column("NUMBER", "number", right=True),
    Column("STATE", "state"),
    Column("ATTEMPTS", "attempts", right=True),
    Column("ATTEMPTED", lambda row: output.moment(row["attempted_at"])),
    Column("STATUS", "status", right=True),
    Column("MS", "ms", right=True),
    Column("ERROR", "error"),
)
EVENTS = (
    *("publication.saved", "publication.everywhere", "publication.taken_back", "request.opened", "request.ended"),
    *("node.state", "import.finished", "alert.raised", "alert.over"),
)
FORMATS = ("events", "mail", "slack", "mattermost", "teams")
STATES = ("waiting", "delivered", "failed")
_number = click.argument("number", metavar="ID", type=click.IntRange(min=1))


@click.group(cls=Commands)
def webhooks() -> None:
    """Manage webhooks, which send events to a URL or by mail."""


@webhooks.command("list")
def list_webhooks(session: Session) -> None:
    """List the webhooks that this token can see, newest first."""
    session.show_rows(session.client.items("/webhooks"), _LISTED, none="No webhooks.")


@webhooks.command()
@_number
def show(session: Session, number: int) -> None:
    """Show a webhook and the events that it sends."""
    found = session.client.get(f"/webhooks/{number}")
    details = {
        **{name: found[name] for name in ("id", "format", "url", "description", "active")},
        **{name: found[name] or None for name in ("events", "zones", "tags", "teams", "disabled_reason")},
        "failing since": output.moment(found["failing_since"]),
        "created": output.moment(found["created_at"]),
    }
    session.show(found, details)


@webhooks.command()
@click.argument("address", metavar="[URL]", default="")
@click.option(
    "--event",
    "events",
    multiple=True,
    required=True,
    type=click.Choice(EVENTS),
    help="Notify of this event. Repeat for several.",
)
@click.option("--description", default="", help="Purpose of the webhook in lists.")
@click.option("--zone", "zones", multiple=True, help="Notify only of publications of this zone. Repeat for several.")
@click.option("--tag", "tags", multiple=True, help="Notify only of zones with this tag. Repeat for several.")
@click.option("--team", "teams", multiple=True, type=int, help="Notify only of zones of the team with this id.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="events",
    show_default=True,
    help="Form of messages: signed events for programs, or messages for people.",
)
def create(
    session: Session, address: str, events: Sequence[str], description: str, format_: str, **where: Sequence[Any]
) -> None:
    r"""Create a webhook at URL and print its secret once.

    The secret signs the events; messages for people are not signed. Mail goes to your own address and takes no URL.

    \b Examples:
      dnspanel webhooks create https://hooks.example/dns --event publication.everywhere --zone example.net
      dnspanel webhooks create --format mail --event alert.raised --event alert.over
    """
    body: dict[str, Any] = {"url": address, "format": format_, "events": list(events), "description": description}
    body |= {name: list(values) for name, values in where.items() if values}
    made = session.client.send("POST", "/webhooks", body)
    details = {"id": made["id"], "events": made["events"], "secret": made["secret"]}
    session.show(made, {name: value for name, value in details.items() if value is not None})


@webhooks.command("test")
@_number
def try_webhook(session: Session, number: int) -> None:
    """Send a test event to a webhook.

    `dnspanel webhooks deliveries` shows what the receiver answered.
    """
    made = session.client.send("POST", f"/webhooks/{number}/test")
    session.show(made, {"delivery": made["id"], "event": made["event"], "state": made["state"]})


@webhooks.command()
@_number
def rotate(session: Session, number: int) -> None:
    """Create a new secret for a webhook and print it once.

    For one day, messages are also signed with the old secret.
    """
    made = session.client.send("POST", f"/webhooks/{number}/rotate")
    session.show(made, {"id": number, "secret": made["secret"]})


@webhooks.command()
@_number
@click.argument("state", type=click.Choice(["on", "off"]))
def switch(session: Session, number: int, state: str) -> None:
    """Turn a webhook on or off.

    Turning it on clears earlier failures.
    """
    changed = session.client.send("PATCH", f"/webhooks/{number}", {"active": state == "on"})
    session.show(changed, {"id": changed["id"], "active": changed["active"]})


@webhooks.command()
@_number
def delete(session: Session, number: int) -> None:
    """Delete a webhook with the log of its deliveries."""
    session.client.send("DELETE", f"/webhooks/{number}")
    session.say_done(f"Deleted webhook {number} and the log of its deliveries.", id=number, deleted=True)


@webhooks.command()
@_number
@click.option("--state", type=click.Choice(STATES), help="Show only deliveries in this state.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Show this many deliveries.")
def deliveries(session: Session, number: int, state: str | None, limit: int) -> None:
    """List deliveries of a webhook and the answers, newest first."""
    found = session.client.items(f"/webhooks/{number}/deliveries", state=state, limit=min(limit, 1000))
    session.show_rows(islice(found, limit), _DELIVERIES, none="No deliveries yet.")


@webhooks.command()
@_number
@click.argument("delivery", type=click.IntRange(min=1))
def replay(session: Session, number: int, delivery: int) -> None:
    """Send the event of a delivery again, with the same id."""
    made = session.client.send("POST", f"/webhooks/{number}/deliveries/{delivery}/replay")
    session.show(made, {"delivery": made["id"], "event": made["event"], "state": made["state"]})
