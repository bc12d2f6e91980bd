"""`dnspanel hooks`: programs that are asked before zones are published."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, options, pass_session, shared_options

_SILENT = click.Choice(["refuse", "pass"])
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("ZONES", lambda row: _zones(row)),
    Column("ASKS", "url"),
    Column("WITHOUT AN ANSWER", "when_silent"),
    Column("NO ANSWER SINCE", lambda row: output.moment(row["failing_since"])),
    Column("WHY", "reason"),
)
_REPLIES = (
    Column("WHEN", lambda row: output.moment(row["at"])),
    Column("ANSWER", "answer"),
    Column("AFTER MS", "ms", right=True),
    Column("ZONES", lambda row: "a test" if row["test"] else row["zones"], right=True),
    Column("REASON", "reason"),
    Column("TICKET", "ticket"),
)
_number = click.argument("number", metavar="ID", type=click.IntRange(min=1))


# The options of what a hook is like; those that are left out stay as they are, or have their default.
_terms = options(
    click.option("--zone", help="It is asked about this zone."),
    click.option("--tag", help="About zones with this tag."),
    click.option("--team", type=click.IntRange(min=1), help="About zones of the team with this id."),
    click.option("--name", help="Who publishes reads this, and never the URL."),
    click.option("--seconds", type=click.IntRange(1, 10), help="So long an answer is waited for."),
    click.option("--when-silent", type=_SILENT, help="What becomes of a publication without an answer."),
)


@click.group()
def hooks() -> None:
    """Publish hooks: programs that are asked before zones are published, and may say no."""


@hooks.command("list")
@shared_options
@pass_session
def list_hooks(session: Session) -> None:
    """List the publish hooks about zones that this token may govern."""
    session.show_rows(session.client.items("/publish-hooks"), _LISTED, none="Nobody is asked.")


@hooks.command()
@_number
@shared_options
@pass_session
def show(session: Session, number: int) -> None:
    """Show how a hook answers, with its last answers."""
    found = session.client.get(f"/publish-hooks/{number}/health")
    if not session.is_json:
        output.show_details(
            {
                "last asked": output.moment(found["questioned_at"]),
                "last answer after ms": found["ms"],
                "half within ms": found["median_ms"],
                "no answer since": output.moment(found["failing_since"]),
                "what is wrong": found["error"],
            }
        )
        output.show_table(found["replies"], _REPLIES, none="It was not asked yet.")
    else:
        output.show_json(found)


@hooks.command()
@click.argument("address", metavar="URL")
@click.option("--reason", required=True, help="Who is refused reads this.")
@_terms
@shared_options
@pass_session
def add(session: Session, address: str, reason: str, **terms: Any) -> None:
    """Ask the program at URL before every publication; its secret is shown this once.

    \b
    Example:
      dnspanel hooks add https://checks.example/dns --tag shop --name "Names" --reason "Names are checked"
    """
    made = session.client.send("POST", "/publish-hooks", {"url": address, "reason": reason, **_given(terms)})
    session.show(made, {"id": made["id"], "zones": _zones(made), "secret": made["secret"]})


@hooks.command()
@_number
@click.option("--address", metavar="URL", help="Ask the program at this URL.")
@click.option("--reason", help="Who is refused reads this.")
@click.option("--everywhere", is_flag=True, help="It is asked about every zone.")
@_terms
@shared_options
@pass_session
def change(
    session: Session, number: int, address: str | None, reason: str | None, everywhere: bool, **terms: Any
) -> None:
    """Change a hook, from the next question on; its secret stays."""
    scope = {"zone": None, "tag": "", "team": None}
    given = _given({"url": address, "reason": reason, **terms})
    if everywhere or scope.keys() & given.keys():
        given = {**scope, **given}
    if not given:
        raise click.UsageError("Say what changes.")
    changed = session.client.send("PATCH", f"/publish-hooks/{number}", given)
    session.show(changed, {"id": changed["id"], "zones": _zones(changed), "asks": changed["url"]})


@hooks.command()
@_number
@shared_options
@pass_session
def rotate(session: Session, number: int) -> None:
    """Make a new secret, which is shown this once; the old one counts beside it for a day."""
    made = session.client.send("POST", f"/publish-hooks/{number}/rotate")
    session.show(made, {"id": number, "secret": made["secret"]})


@hooks.command("test")
@_number
@shared_options
@pass_session
@click.pass_context
def try_hook(context: click.Context, session: Session, number: int) -> None:
    """Ask the hook an example, and show what it answers; the exit code is 1 if no answer counts."""
    found = session.client.send("POST", f"/publish-hooks/{number}/test")
    session.show(found, {"answer": found["answer"], "after ms": found["ms"], "reason": found["reason"]})
    if found["answer"] == "silent":
        context.exit(1)


@hooks.command()
@_number
@shared_options
@pass_session
def lift(session: Session, number: int) -> None:
    """Lift a hook: nobody is asked any more."""
    session.client.send("DELETE", f"/publish-hooks/{number}")
    session.done(f"Hook {number} deleted.", id=number, deleted=True)


def _given(terms: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in terms.items() if value is not None}


def _zones(row: Any) -> str:
    """For which zones a hook is asked."""
    if row["zone"]:
        return str(row["zone"])
    if row["tag"]:
        return f"tag {row['tag']}"
    return f"team {row['team']}" if row["team"] else "every zone"
