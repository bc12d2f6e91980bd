"""The command `dnspanel zones`, which lists, shows, creates, clones, changes, deletes and restores zones."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.many import only_act, tell_others, tell_refusals
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.written import Writing, publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path
from dnspanel.cli.zone_runs import run_to_end, show_run
from dnspanel.cli.zones.zone_history import history, undo
from dnspanel.cli.zones.zone_restore import restore, tell_way_back
from dnspanel.cli.zones.zone_revisions import diff, revert

_LISTED = (
    Column("ZONE", "name"),
    Column("SERIAL", "serial", right=True),
    Column("REVISION", "revision", right=True),
    Column("RRSETS", "rrset_count", right=True),
    Column("CHANGED", lambda row: output.moment(row["changed_at"])),
    output.by("changed_by"),
    Column("TAGS", "tags"),
)
_RUNS = "/change-runs"
_OUTCOMES = (Column("ZONE", "zone"), Column("OUTCOME", "outcome"), Column("WHY", "message"))


@click.group(cls=Commands)
def zones() -> None:
    """Manage zones and their history."""


@zones.command("list")
@click.option("-q", "--search", help="Search by words of the name and filters, such as type:mx or tag:shop.")
@click.option("--tag", help="Show only zones with this tag.")
@click.option("--limit", type=click.IntRange(min=1), help="Show at most this many zones.")
def list_zones(session: Session, search: str | None, tag: str | None, limit: int | None) -> None:
    r"""List zones, sorted by name.

    \b Examples:
      dnspanel zones list
      dnspanel zones list -q has:192.0.2.7 --output json
    """
    found = session.client.items("/zones", q=search, tag=tag, limit=min(limit or 1000, 1000))
    rows = found if limit is None else (row for _, row in zip(range(limit), found, strict=False))
    session.show_rows(rows, _LISTED, none="No zones.")


@zones.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show a zone.

    `dnspanel records list` shows the records of a zone.
    """
    found = session.client.get(zone_path(zone))
    session.show(found, {**found, "changed_at": output.moment(found["changed_at"])})


@zones.command()
@click.argument("zone")
@click.option(
    "--nameserver",
    "nameservers",
    multiple=True,
    help="Name server of the zone; the default is set in the panel. Repeat for several.",
)
@click.option("--set", "name_server_set", type=int, help="Id of the set of name servers that the zone follows.")
@click.option("--hostmaster", help="Mailbox in the SOA record, as a name; the default is set in the panel.")
@click.option("--team", type=int, help="Id of the team that owns the zone.")
@writing_options
def create(session: Session, zone: str, writing: Writing, **told: Any) -> None:
    """Create a zone.

    \b
    Examples:
      dnspanel zones create example.net --wait
      dnspanel zones create example.net --nameserver ns1.example.net. --nameserver ns2.example.net.
    """
    told["nameservers"] = list(told["nameservers"])
    told["reason"] = writing.reason
    body = {"name": zone, **{name: value for name, value in told.items() if value}}
    show_written(session, publish(session, "POST", "/zones", body, waiting=writing), waited=writing.wait)


@zones.command()
@click.argument("source")
@click.argument("names", metavar="NEW...", nargs=-1, required=True)
@click.option("--tags", is_flag=True, help="Copy the tags of SOURCE too.")
@click.option("--team", type=int, help="Id of the team that owns the new zones.")
@writing_options
def clone(session: Session, source: str, names: tuple[str, ...], writing: Writing, **told: Any) -> None:
    """Create zones with the records of another zone.

    Either all zones are created, in one publication, or none. Names inside SOURCE are moved to the new zone, including
    names in record values. Keys, signatures and DS are not copied.

    \b
    Examples:
      dnspanel zones clone example.net shop.example --wait
      dnspanel zones clone template.test a.test b.test --tags
    """
    told["reason"] = writing.reason
    body = {"names": list(names), **{name: value for name, value in told.items() if value}}
    written = publish(session, "POST", zone_path(source, "clones"), body, waiting=writing)
    show_written(session, written, waited=writing.wait)


@zones.command()
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--confirm", is_flag=True, help="Confirm deleting many zones.")
@writing_options
def delete(session: Session, zones: tuple[str, ...], *, yes: bool, confirm: bool, writing: Writing) -> None:
    """Delete zones.

    Either all zones are deleted, in one publication, or none. Deleted zones stay in the trash for 30 days: see
    `dnspanel zones restore`.

    \b
    Examples:
      dnspanel zones delete old.example --dry-run
      dnspanel zones delete old.example --wait
      dnspanel zones delete a.example b.example --yes --reason 'contract ended'
    """
    found = [session.client.get(zone_path(zone)) for zone in zones]
    if not (yes or writing.dry_run):
        rrsets = sum(zone["rrset_count"] for zone in found)
        what = found[0]["name"] if len(found) == 1 else f"{len(found)} zones"
        session.ask(f"Delete {what} with {output.count(rrsets, 'RRset')}?")
    body = {
        "zones": [{"zone": zone["name"], "at_revision": zone["revision"]} for zone in found],
        "reason": writing.reason,
        "confirm": confirm,
    }
    written = publish(session, "POST", "/bulk/deletions", body, waiting=writing)
    show_written(session, written, waited=writing.wait)
    if not writing.dry_run:
        tell_way_back(session, written)


@zones.command()
@click.argument("names", metavar="[ZONE]...", nargs=-1)
@click.option("-q", "--search", help="Select all zones that this search finds, such as tag:shop type:mx.")
@click.option("--add-tag", "add_tags", multiple=True, help="Tag to add. Repeat for several.")
@click.option("--remove-tag", "remove_tags", multiple=True, help="Tag to remove. Repeat for several.")
@click.option("--team", type=int, help="Id of the new team of the zones.")
@click.option("--no-team", is_flag=True, help="Remove the zones from every team.")
@click.option("--delete", is_flag=True, help="Delete the zones in one publication.")
@click.option("--policy", help="Name of the DNSSEC policy to set for each zone, as a job.")
@click.option("--no-policy", is_flag=True, help="Remove the DNSSEC policy set for each zone, as a job.")
@click.option("--job", is_flag=True, help="Run as a job, for any number of zones. A job can be undone.")
@click.option("--undo", type=int, metavar="RUN", help="Undo the changes of this job.")
@click.option("--confirm", is_flag=True, help="Confirm deleting many zones.")
@writing_options
def change(
    session: Session,
    names: tuple[str, ...],
    search: str | None,
    *,
    job: bool,
    undo: int | None,
    confirm: bool,
    writing: Writing,
    **told: Any,
) -> None:
    """Change or delete many zones.

    Zones that the token is not allowed to change, and zones that others publish at the same time, are skipped and
    listed.

    \b
    Examples:
      dnspanel zones change -q 'shop dnssec:off' --add-tag to-sign --dry-run
      dnspanel zones change a.example b.example --team 3
      dnspanel zones change -q tag:closed --delete --reason 'contract ended' --wait
      dnspanel zones change -q tag:shop --policy Standard --dry-run
      dnspanel zones change -q tag:shop --add-tag eu --job
      dnspanel zones change --undo 12
    """
    if undo is not None:
        if names or search is not None or writing.dry_run or any(told.values()):
            raise click.UsageError("Give --undo without zones and other options.")
        undone = run_to_end(session, _RUNS, {"undo_of": undo}, waiting=writing)
        show_run(session, _RUNS, undone, _OUTCOMES, carried_out=True)
        return
    if (search is None) == (not names):
        raise click.UsageError("Give --search or zones, not both.")
    found: dict[str, Any] = {"q": search} if search is not None else {"zones": list(names)}
    act = _act(session, **told)
    if job or act["op"] == "set-policy":
        job_body = {**found, "act": act, "reason": writing.reason}
        _change_as_job(session, job_body, confirm=confirm, writing=writing)
        return
    body = {**found, "act": act, "reason": writing.reason, "confirm": confirm}
    if writing.dry_run:
        _show_preview(session, session.client.send("POST", "/bulk/zones", body, query={"dry_run": True}))
        return
    written = publish(session, "POST", "/bulk/zones", body, waiting=writing)
    if session.is_json or written["publication"]:
        show_written(session, written, waited=writing.wait)
    if not session.is_json:
        outcome = written["outcome"]
        click.echo(f"{output.count(outcome['changed'], 'zone')} changed, {outcome['unchanged']} had nothing to change.")
        tell_refusals(outcome, _of_zone)
        if act["op"] == "delete":
            tell_way_back(session, written)


def _change_as_job(session: Session, body: Mapping[str, Any], *, confirm: bool, writing: Writing) -> None:
    done = run_to_end(session, _RUNS, body)
    if not writing.dry_run and done["state"] == "done" and done["counts"].get("change"):
        done = run_to_end(session, _RUNS, {"dry_run_of": done["id"], "confirm": confirm}, waiting=writing)
        output.tell(f"Job {done['id']}. To take it back: dnspanel zones change --undo {done['id']}")
    show_run(session, _RUNS, done, _OUTCOMES, carried_out=not writing.dry_run, to_carry_out="Without --dry-run")


def _act(
    session: Session,
    *,
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
    team: int | None,
    policy: str | None,
    **flags: bool,
) -> dict[str, Any]:
    """Return the only action that the options describe. Raise UsageError unless there is exactly one."""
    acts: list[dict[str, Any]] = []
    if add_tags:
        acts.append({"op": "add-tags", "tags": list(add_tags)})
    if remove_tags:
        acts.append({"op": "remove-tags", "tags": list(remove_tags)})
    if team is not None:
        acts.append({"op": "set-team", "team": team})
    if flags["no_team"]:
        acts.append({"op": "set-team", "team": None})
    if flags["delete"]:
        acts.append({"op": "delete"})
    if policy is not None:
        acts.append({"op": "set-policy", "policy": session.find_one("/dnssec/policies", policy, "policy")["id"]})
    if flags["no_policy"]:
        acts.append({"op": "set-policy", "policy": None})
    return only_act(acts, "--add-tag, --remove-tag, --team, --no-team, --policy, --no-policy, --delete")


def _show_preview(session: Session, preview: Mapping[str, Any]) -> None:
    if session.is_json:
        output.show_json(preview)
        return
    zones, rrsets = output.count(preview["changed"], "zone"), output.count(preview["changed_rrsets"], "RRset")
    click.echo(f"{zones} with {rrsets} would change.")
    for name in preview["examples"]:
        click.echo(f"  {name}")
    for reason in preview["reasons"]:
        output.tell(f"Needs --confirm: {reason}")
    tell_others(preview)
    tell_refusals(preview, _of_zone)
    output.tell("Nothing was written.")


def _of_zone(refusal: Mapping[str, Any]) -> str:
    return str(refusal["zone"])


for command in (restore, history, diff, undo, revert):
    zones.add_command(command)
