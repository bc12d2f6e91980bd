"""The command `dnspanel dnssec rollover`, which starts, shows and cancels key rollovers."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.written import Writing, publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

_COLUMNS = (
    Column("ZONE", "zone"),
    Column("KIND", "kind"),
    Column("STEP", "step"),
    Column("WAITS FOR", "waits_for"),
    Column("EARLIEST", lambda row: output.moment(row["earliest"])),
    Column("STUCK", "stuck"),
)
_KINDS = (
    Column("KIND", "kind"),
    Column("POSSIBLE", lambda row: row["refusal"] is None),
    Column("WHY NOT", lambda row: row["refusal"] or ""),
)


@click.group(cls=Commands)
def rollover() -> None:
    """Manage key rollovers.

    A rollover continues automatically after it was started.
    """


@rollover.command("list")
def list_rollovers(session: Session) -> None:
    """List the rollovers in progress."""
    session.show_rows(session.client.items("/dnssec/rollovers"), _COLUMNS, none="No rollover in progress.")


@rollover.command()
@click.argument("zone")
def kinds(session: Session, zone: str) -> None:
    """List the kinds of rollovers, and what prevents each."""
    session.show_rows(session.client.items(zone_path(zone, "dnssec", "rollover-kinds")), _KINDS, none="No kinds.")


@rollover.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show the rollover of a zone.

    If no rollover is in progress, the last one is shown.
    """
    found = _newest(session, zone)
    if found is None:
        raise click.ClickException(f"{zone} has not had a rollover yet.")
    details = {
        "zone": found["zone"],
        "kind": found["kind"],
        "step": found["step"],
        "waits for": found["waits_for"] or None,
        "not before": output.moment(found["earliest"]) if found["earliest"] else None,
        "late nodes": found["late"] or None,
        "late secondaries": found["late_secondaries"] or None,
        "DS to add": found["add_ds"] or None,
        "DS to remove": found["remove_ds"] or None,
        "begun": output.moment(found["started_at"]),
        "by": output.actor(found["started_by"]),
        "ended": output.moment(found["ended_at"]) if found["ended_at"] else None,
        "cancelled": found["cancelled"],
    }
    session.show(found, details)


@rollover.command()
@click.argument("zone")
@click.argument("kind", type=click.Choice(["zsk", "ksk", "ksk-double-ds", "csk", "algorithm", "insecure", "secure"]))
@click.option("--algorithm", type=int, help="Number of the new algorithm, for an algorithm rollover.")
@click.option("--bits", type=click.IntRange(min=1), help="Length of new RSA keys in bits.")
@click.option("--emergency", is_flag=True, help="Remove the old key at once. Validation fails for a while.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation of an emergency rollover.")
@writing_options
def begin(
    session: Session,
    zone: str,
    kind: str,
    algorithm: int | None,
    bits: int | None,
    *,
    emergency: bool,
    yes: bool,
    writing: Writing,
) -> None:
    """Start a key rollover.

    Each step waits for every node, for caches, and for the parent.

    \b
    Examples:
      dnspanel dnssec rollover begin example.net csk
      dnspanel dnssec rollover begin example.net algorithm --algorithm 15
    """
    if emergency and not (yes or writing.dry_run):
        found = session.client.items(zone_path(zone, "dnssec", "rollover-kinds"))
        breaks = [each["emergency_breaks"] for each in found if each["kind"] == kind]
        for text in filter(None, breaks):
            output.tell(text)
        session.ask(f"Replace the key of {zone} at once?")
    terms = {"kind": kind, "algorithm": algorithm, "bits": bits, "emergency": emergency}
    _send(session, zone_path(zone, "dnssec", "rollovers"), terms, verb="Started the rollover of", writing=writing)


@rollover.command()
@click.argument("zone")
@click.option("--withdrawn", is_flag=True, help="Confirm that no request for the new DS is pending at the parent.")
@writing_options
def cancel(session: Session, zone: str, *, withdrawn: bool, **how: Any) -> None:
    """Cancel the rollover of a zone.

    The zone returns to the old keys, where that is safe.
    """
    found = _newest(session, zone)
    if found is None:
        raise click.ClickException(f"{zone} has not had a rollover yet.")
    path = zone_path(zone, "dnssec", "rollovers", str(found["id"]), "cancel")
    _send(session, path, {"withdrawn": withdrawn}, verb="Cancelled the rollover of", **how)


def _newest(session: Session, zone: str) -> Mapping[str, Any] | None:
    found = session.client.get(zone_path(zone, "dnssec", "rollovers"), limit=1)["items"]
    return found[0] if found else None


def _send(session: Session, path: str, body: Mapping[str, Any], *, verb: str, writing: Writing) -> None:
    query = {"reason": writing.reason} if writing.reason else {}
    written = publish(session, "POST", path, body, query=query, waiting=writing)
    show_written(session, written, waited=writing.wait, verb=verb)
    if not (session.is_json or writing.dry_run):
        output.tell(written["rollover"]["waits_for"])
