"""The command `dnspanel requests`: request approval for drafts, schedule drafts, and decide on requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.written import confirm_option, dry_run_option, send_write, show_changes_of, show_written
from dnspanel.cli.zone_paths import segment

_LISTED = (
    Column("KEY", "key"),
    Column("NAME", "name"),
    Column("STATE", "state", state=True),
    output.by("asked_by"),
    Column("SINCE", lambda row: output.moment(row["asked_at"])),
    Column("PUBLISHES", lambda row: output.moment(row["publish_at"])),
    Column("REASON", "reason"),
)


@click.group(cls=Commands)
def requests() -> None:
    """Manage requests for approval."""


@requests.command("list")
@click.option("--waiting", is_flag=True, help="Show requests that wait for your approval, instead of your own.")
@click.option("--past-rules", is_flag=True, help="Show changes that overrode the rules in the last 30 days.")
def list_requests(session: Session, *, waiting: bool, past_rules: bool) -> None:
    """List your requests, newest first."""
    if waiting and past_rules:
        raise click.UsageError("Give --waiting or --past-rules, not both.")
    query = {"which": "waiting"} if waiting else {"which": "past-rules"} if past_rules else {}
    session.show_rows(session.client.items("/requests", **query), _LISTED, none="No requests.")


@requests.command()
@click.argument("key")
def show(session: Session, key: str) -> None:
    """Show a request with changes, approvals and comments."""
    _show(session, session.client.get(_path(key)))


@requests.command()
@click.argument("name")
@click.option("--draft", help="Key of a saved draft; the default is the current draft.")
@click.option("--zone", "zones", multiple=True, help="Include only changes of this zone. Repeat for several.")
@click.option("--reason", default="", help="Reason for the history.")
@click.option("--accept", "accepted", multiple=True, help="Code of a warning to accept. Repeat for several.")
@confirm_option
@click.option("--at", "publish_at", help="Publish automatically at this time, such as 2027-01-31T18:00:00Z.")
def ask(
    session: Session,
    name: str,
    draft: str | None,
    zones: Sequence[str],
    reason: str,
    accepted: Sequence[str],
    *,
    confirm: bool,
    publish_at: str | None,
) -> None:
    """Request approval for a draft, or schedule a draft.

    \b
    Examples:
      dnspanel requests ask "Move the shop" --zone example.net --reason "DNS-42"
      dnspanel requests ask "At night" --at 2027-01-31T02:00:00Z
    """
    body: dict[str, Any] = {"name": name, "reason": reason, "accepted": list(accepted), "confirm": confirm}
    body |= {"zones": list(zones)} if zones else {}
    body |= {"draft": draft} if draft else {}
    body |= {"publish_at": publish_at} if publish_at else {}
    _show(session, session.client.send("POST", "/requests", body))


@requests.command()
@click.argument("key")
@click.argument("digest")
@click.option("--comment", "text", default="", help="Comment for the discussion.")
def approve(session: Session, key: str, digest: str, text: str) -> None:
    """Approve the version of a request that has this DIGEST.

    `dnspanel requests show` prints the digest. The command fails if the request has changed since then.
    """
    _act(session, key, "approve", {"digest": digest, "text": text})


@requests.command()
@click.argument("key")
@click.argument("reason")
def refuse(session: Session, key: str, reason: str) -> None:
    """Decline a request with a reason."""
    _act(session, key, "decline", {"text": reason})


@requests.command()
@click.argument("key")
@click.argument("text")
def comment(session: Session, key: str, text: str) -> None:
    """Comment on a request."""
    _act(session, key, "comment", {"text": text})


@requests.command()
@click.argument("key")
@click.option("--at", "publish_at", help="Time such as 2027-01-31T18:00:00Z. Without --at, the schedule is cancelled.")
def plan(session: Session, key: str, publish_at: str | None) -> None:
    """Schedule the publication of a request."""
    _act(session, key, "plan", {"publish_at": publish_at})


@requests.command()
@click.argument("key")
@click.option(
    "--past-rules",
    "emergency",
    metavar="REASON",
    help="Override approval rules and freezes. Requires the right `govern`.",
)
@dry_run_option
def publish(session: Session, key: str, emergency: str | None, *, dry_run: bool) -> None:
    """Publish an approved request."""
    act = "publish" if emergency is None else "past-rules"
    body = {} if emergency is None else {"text": emergency}
    if dry_run:
        planned = send_write(session, "POST", f"{_path(key)}/{act}", body, dry_run=True)
        show_written(session, planned, waited=False)
    else:
        _act(session, key, act, body)


@requests.command()
@click.argument("key")
def withdraw(session: Session, key: str) -> None:
    """Withdraw a request.

    The draft with the changes is kept.
    """
    _act(session, key, "withdraw", {})


def _act(session: Session, key: str, act: str, body: Mapping[str, Any]) -> None:
    found = session.client.send("POST", f"{_path(key)}/{act}", body)
    session.show(found, _details(found))


def _path(key: str) -> str:
    return f"/requests/{segment(key)}"


def _show(session: Session, found: Mapping[str, Any]) -> None:
    session.show(found, _details(found))
    if not session.is_json:
        show_changes_of(found["plans"])


def _details(found: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "key": found["key"],
        "name": found["name"],
        "state": found["state"],
        "by": output.actor(found["asked_by"]),
        "reason": found["reason"],
        "publishes": output.moment(found["publish_at"]),
        "not published because": found["refusal"],
        "publication": found["publication"],
        "taken back because": found["taken_back"],
        "digest": found["digest"],
    }
    for number, demand in enumerate(found["demands"], 1):
        given = f"{demand['given']} of {demand['needed']} approvals by {demand['who']}"
        details[f"rule {number}"] = f"{given}: {demand['reason']}"
    for number, note in enumerate(found["notes"], 1):
        stale = ", of what has moved since" if note["stale"] else ""
        about = f"{output.actor(note['actor']) or 'somebody'}, {output.moment(note['at'])}: {note['verdict']}{stale}"
        details[f"note {number}"] = f"{about}. {note['text']}".strip()
    return {name: value for name, value in details.items() if value not in (None, "")}
