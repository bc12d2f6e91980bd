"""The command `dnspanel templates`, which lists templates, applies one to a zone, or updates many zones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options_as
from dnspanel.cli.waiting import Waiting
from dnspanel.cli.written import confirm_option, waiting_options
from dnspanel.cli.zone_paths import zone_path
from dnspanel.cli.zone_runs import run_to_end, show_run

_RUNS = "/template-runs"
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("FOR", "kind"),
    Column("TEAM", "team", right=True),
    Column("VERSION", "version", right=True),
    Column("DESCRIPTION", "description"),
)
_STEPS = (
    Column("ACT", "act"),
    Column("NAME", "name"),
    Column("TYPE", "type"),
    Column("BEFORE", lambda row: _records(row["before"])),
    Column("AFTER", lambda row: _records(row["after"])),
    Column("WHY", "message"),
)
_FOUND = (Column("ZONE", "zone"), Column("OUTCOME", "outcome"), Column("WHAT", "message"))

_set = click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Value of a variable. Repeat for several."
)


@dataclass(frozen=True, slots=True)
class Use:
    """The options for applying a template to a zone. If `keep` is None, the link to the template does not change."""

    settings: Sequence[str]
    name: str
    overwrite: bool
    keep: bool | None


use_options = options_as(
    "use",
    Use,
    _set,
    click.option("--name", default="@", show_default=True, help="Owner name for the records of a snippet."),
    click.option("--overwrite", is_flag=True, help="Overwrite records that differ from the template."),
    click.option(
        "--keep/--no-keep",
        default=None,
        help="Link the zone to the template, or remove the link.  [default: no change]",
    ),
)


@click.group(cls=Commands)
def templates() -> None:
    """Manage templates of records.

    TEMPLATE is a name or an id.
    """


@templates.command("list")
def list_templates(session: Session) -> None:
    """List the templates."""
    session.show_rows(session.client.items("/templates"), _LISTED, none="No templates.")


@templates.command()
@click.argument("template")
@click.option("--version", type=click.IntRange(1), help="Number of the version; the default is the newest.")
def show(session: Session, template: str, version: int | None) -> None:
    """Show the text and variables of a template."""
    found = _find_template(session, template)
    version_found = session.client.get(f"/templates/{found['id']}/versions/{version or found['version']}")
    details = {
        "template": found["name"],
        "version": f"{version_found['number']} of {found['version']}",
        "variables": [
            f"{each['name']} ({each['kind']}) {each['label']}" + (f" = {each['default']}" if each["default"] else "")
            for each in version_found["variables"]
        ]
        or None,
        "text": version_found["text"].splitlines(),
    }
    session.show(version_found, details)


@templates.command()
@click.argument("zone")
@click.argument("template")
@use_options
@click.option("--reason", default="", help="Reason for the history.")
@confirm_option
@click.option("--dry-run", is_flag=True, help="Show the changes and write nothing.")
def apply(session: Session, zone: str, template: str, use: Use, reason: str, *, confirm: bool, dry_run: bool) -> None:
    r"""Apply a template to a zone.

    Records from other sources, and records of the template that were edited by hand, change only with --overwrite.

    \b Examples:
      dnspanel templates apply example.com Web --set ip=192.0.2.1 --dry-run
      dnspanel templates apply example.com Web --set ip=192.0.2.1 --keep
    """
    body = {
        "template": _find_template(session, template)["id"],
        "values": _values(use.settings),
        "name": use.name,
        "overwrite": use.overwrite,
        "keep": use.keep,
        "reason": reason,
        "confirm": confirm,
    }
    query = {"dry_run": "true"} if dry_run else None
    found = session.client.send("POST", zone_path(zone, "apply-template"), body, query=query)
    steps = found["steps"]
    if session.is_json:
        output.show_json(found)
    else:
        session.show_rows(steps, _STEPS, none="Nothing to change.")
    conflicts = 0 if use.overwrite else sum(step["act"] == "conflict" for step in steps)
    if conflicts:
        output.tell(f"{conflicts:,} stay{'s' if conflicts == 1 else ''} as before. With --overwrite they change.")
    if dry_run:
        output.tell("Nothing was written.")


@templates.command()
@click.argument("template")
@click.option("-q", "--search", help="Include zones that this search finds; the default is the linked zones.")
@_set
@click.option("--keep", is_flag=True, help="Link the found zones to the template.")
@click.option("--overwrite", is_flag=True, help="Overwrite records that were edited by hand too.")
@click.option(
    "--apply", "carry_out", is_flag=True, help="Apply the result of the dry run. Without --apply, nothing is written."
)
@waiting_options
def run(
    session: Session,
    template: str,
    search: str | None,
    settings: Sequence[str],
    *,
    keep: bool,
    overwrite: bool,
    carry_out: bool,
    waiting: Waiting,
) -> None:
    """Update zones to the newest version of a template.

    Without --apply, only a dry run is made. Exit code 1 means that zones were refused, or taken back because name
    servers could not serve the new content; these zones are listed with the reason.

    \b
    Examples:
      dnspanel templates run Web
      dnspanel templates run Web --apply
    """
    body = {"template": _find_template(session, template)["id"], "q": search, "values": _values(settings), "keep": keep}
    done = run_to_end(session, _RUNS, body)
    if carry_out and done["state"] == "done":
        told = {"dry_run_of": done["id"], "overwrite": overwrite}
        done = run_to_end(session, _RUNS, told, waiting=waiting)
    show_run(session, _RUNS, done, _FOUND, carried_out=carry_out)


def _find_template(session: Session, name: str) -> Mapping[str, Any]:
    """Return the template with this name or id. Raise UsageError if no template matches."""
    return session.find_one("/templates", name, "template")


def _values(settings: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in settings]
    for name, sign, _ in pairs:
        if not sign:
            raise click.UsageError(f"--set {name} needs a value: {name}=…")
    return {name: value for name, _, value in pairs}


def _records(rrset: Mapping[str, Any] | None) -> str:
    return "" if rrset is None else ", ".join(rrset["rdata"])
