"""The command `dnspanel hooks`, which manages programs that check changes before they are published."""

from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options

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


# The settings of a hook. Omitted options keep their value, or get the default in a new hook.
_terms = options(
    click.option("--zone", help="Ask the hook about this zone."),
    click.option("--tag", help="Ask the hook about zones with this tag."),
    click.option("--team", type=click.IntRange(min=1), help="Ask the hook about zones of the team with this id."),
    click.option("--name", help="Name of the hook, shown to publishers instead of the URL."),
    click.option("--seconds", type=click.IntRange(1, 10), help="Timeout for an answer in seconds."),
    click.option("--when-silent", type=_SILENT, help="Decision if the hook does not answer."),
)


@click.group(cls=Commands)
def hooks() -> None:
    """Manage programs that check publications."""


@hooks.command("list")
def list_hooks(session: Session) -> None:
    """List the publish hooks that the token can manage."""
    session.show_rows(session.client.items("/publish-hooks"), _LISTED, none="No publish hooks yet.")


@hooks.command()
@_number
def show(session: Session, number: int) -> None:
    """Show the last answers of a publish hook."""
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
        output.show_table(found["replies"], _REPLIES, none="No answers yet.")
    else:
        output.show_json(found)


@hooks.command()
@click.argument("address", metavar="URL")
@click.option("--reason", required=True, help="Explanation for people who are refused.")
@_terms
def add(session: Session, address: str, reason: str, **terms: Any) -> None:
    """Add a publish hook and print its secret once.

    The program at URL is asked before each publication that changes one of the chosen zones. Without --zone, --tag
    or --team, it is asked about every zone.

    \b
    Example:
      dnspanel hooks add https://checks.example/dns --tag shop --name "Names" --reason "Names are checked"
    """
    made = session.client.send("POST", "/publish-hooks", {"url": address, "reason": reason, **_options_in_use(terms)})
    session.show(made, {"id": made["id"], "zones": _zones(made), "secret": made["secret"]})


@hooks.command()
@_number
@click.option("--address", metavar="URL", help="New URL of the program.")
@click.option("--reason", help="Explanation for people who are refused.")
@click.option("--everywhere", is_flag=True, help="Ask the hook about every zone.")
@_terms
def change(
    session: Session, number: int, address: str | None, reason: str | None, *, everywhere: bool, **terms: Any
) -> None:
    """Change a publish hook.

    The secret stays unchanged. The change applies from the next publication.
    """
    scope = {"zone": None, "tag": "", "team": None}
    given = _options_in_use({"url": address, "reason": reason, **terms})
    if everywhere or scope.keys() & given.keys():
        given = {**scope, **given}
    if not given:
        raise click.UsageError("Give at least one option to change.")
    changed = session.client.send("PATCH", f"/publish-hooks/{number}", given)
    session.show(changed, {"id": changed["id"], "zones": _zones(changed), "asks": changed["url"]})


@hooks.command()
@_number
def rotate(session: Session, number: int) -> None:
    """Create a new secret for a publish hook and print it once.

    The old secret stays valid for one day.
    """
    made = session.client.send("POST", f"/publish-hooks/{number}/rotate")
    session.show(made, {"id": number, "secret": made["secret"]})


@hooks.command("test")
@_number
@click.pass_context
def try_hook(context: click.Context, session: Session, number: int) -> None:
    """Send an example to a publish hook and show its answer.

    Exit code 1 means that the hook did not give a valid answer.
    """
    found = session.client.send("POST", f"/publish-hooks/{number}/test")
    session.show(found, {"answer": found["answer"], "after ms": found["ms"], "reason": found["reason"]})
    if found["answer"] == "silent":
        context.exit(1)


@hooks.command()
@_number
def lift(session: Session, number: int) -> None:
    """Delete a publish hook.

    Publications no longer wait for the hook's answer.
    """
    session.client.send("DELETE", f"/publish-hooks/{number}")
    session.say_done(f"Hook {number} deleted.", id=number, deleted=True)


def _options_in_use(terms: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in terms.items() if value is not None}


def _zones(row: Any) -> str:
    if row["zone"]:
        return str(row["zone"])
    if row["tag"]:
        return f"tag {row['tag']}"
    return f"team {row['team']}" if row["team"] else "every zone"
