"""`dnspanel zones`: list, look, create, change, delete, bring back, and go back in history."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.dnssec_policies import policy_named
from dnspanel.cli.many import only_act, tell_others, tell_refusals
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.written import publish, show_written, writing_options
from dnspanel.cli.zone_history import history, undo
from dnspanel.cli.zone_paths import zone_path
from dnspanel.cli.zone_restore import restore, tell_way_back
from dnspanel.cli.zone_runs import run_to_end, show_run

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


@click.group()
def zones() -> None:
    """Zones: list, create, delete, and their history."""


@zones.command("list")
@click.option(
    "-q", "--search", help="As in the search box: words of the name, and filters such as type:mx or tag:shop."
)
@click.option("--tag", help="Zones with this tag.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@shared_options
@pass_session
def list_zones(session: Session, search: str | None, tag: str | None, limit: int | None) -> None:
    """List zones by name.

    \b
    Examples:
      dnspanel zones list
      dnspanel zones list -q has:192.0.2.7 --output json
    """
    found = session.client.items("/zones", q=search, tag=tag, limit=min(limit or 1000, 1000))
    rows = found if limit is None else (row for _, row in zip(range(limit), found, strict=False))
    session.show_rows(rows, _LISTED, none="No zone.")


@zones.command()
@click.argument("zone")
@shared_options
@pass_session
def show(session: Session, zone: str) -> None:
    """Show a zone; its records are in `dnspanel records list`."""
    found = session.client.get(zone_path(zone))
    session.show(found, {**found, "changed_at": output.moment(found["changed_at"])})


@zones.command()
@click.argument("zone")
@click.option("--nameserver", "nameservers", multiple=True, help="Once for each; else the panel's defaults.")
@click.option("--set", "name_server_set", type=int, help="Id of a set of name servers, which the zone follows.")
@click.option("--hostmaster", help="The mailbox of the SOA, as a name; else the panel's default.")
@click.option("--team", type=int, help="Id of the team that it belongs to.")
@writing_options
@shared_options
@pass_session
def create(session: Session, zone: str, wait: bool, timeout: int, **told: Any) -> None:
    """Create a zone.

    \b
    Examples:
      dnspanel zones create example.net --wait
      dnspanel zones create example.net --nameserver ns1.example.net. --nameserver ns2.example.net.
    """
    told["nameservers"] = list(told["nameservers"])
    body = {"name": zone, **{name: value for name, value in told.items() if value}}
    show_written(session, publish(session, "POST", "/zones", body, wait=wait, timeout=timeout), waited=wait)


@zones.command()
@click.argument("source")
@click.argument("names", metavar="NEW...", nargs=-1, required=True)
@click.option("--tags", is_flag=True, help="Its tags too.")
@click.option("--team", type=int, help="Id of the team that the new zones belong to.")
@writing_options
@shared_options
@pass_session
def clone(session: Session, source: str, names: tuple[str, ...], wait: bool, timeout: int, **told: Any) -> None:
    """Create zones with the records of SOURCE: all of them in one publication, or none.

    Names inside of SOURCE become names inside of the new zone, also where records point at them. Keys, signatures and
    DS are not copied.

    \b
    Examples:
      dnspanel zones clone example.net shop.example --wait
      dnspanel zones clone template.test a.test b.test --tags
    """
    body = {"names": list(names), **{name: value for name, value in told.items() if value}}
    written = publish(session, "POST", zone_path(source, "clones"), body, wait=wait, timeout=timeout)
    show_written(session, written, waited=wait)


@zones.command()
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm", is_flag=True, help="Delete them though they are many.")
@writing_options
@shared_options
@pass_session
def delete(
    session: Session, zones: tuple[str, ...], yes: bool, confirm: bool, wait: bool, timeout: int, reason: str
) -> None:
    """Delete zones: all of them in one publication, or none. They lie in the trash for 30 days."""
    found = [session.client.get(zone_path(zone)) for zone in zones]
    if not yes:
        rrsets = sum(zone["rrset_count"] for zone in found)
        what = found[0]["name"] if len(found) == 1 else f"{len(found)} zones"
        session.ask(f"Delete {what} with {output.count(rrsets, 'RRset')}?")
    body = {
        "zones": [{"zone": zone["name"], "at_revision": zone["revision"]} for zone in found],
        "reason": reason,
        "confirm": confirm,
    }
    written = publish(session, "POST", "/bulk/deletions", body, wait=wait, timeout=timeout)
    show_written(session, written, waited=wait)
    tell_way_back(session, written)


@zones.command()
@click.argument("names", metavar="[ZONE]...", nargs=-1)
@click.option("--where", help="All zones that this search finds, as in the panel: tag:shop, shop type:mx")
@click.option("--add-tag", "add_tags", multiple=True, help="Once for each.")
@click.option("--remove-tag", "remove_tags", multiple=True, help="Once for each.")
@click.option("--team", type=int, help="Id of the team that they go to.")
@click.option("--no-team", is_flag=True, help="Take them out of their teams.")
@click.option("--delete", is_flag=True, help="Move them to the trash, in one publication.")
@click.option("--policy", help="Name of the DNSSEC policy that they get themselves; as a job.")
@click.option("--no-policy", is_flag=True, help="Take away their own, so that those of tags and teams count; as a job.")
@click.option("--job", is_flag=True, help="As a job, of any number of zones: each with its outcome, to be taken back.")
@click.option("--undo", type=int, metavar="RUN", help="Take back what this job changed, and nothing else.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--confirm", is_flag=True, help="Delete them though they are many.")
@writing_options
@shared_options
@pass_session
def change(
    session: Session,
    names: tuple[str, ...],
    where: str | None,
    *,
    job: bool,
    undo: int | None,
    dry_run: bool,
    confirm: bool,
    wait: bool,
    timeout: int,
    reason: str,
    **told: Any,
) -> None:
    """Change tags, team or DNSSEC policy of many zones, or delete them.

    Zones that the token may not change, and those that are published
    meanwhile, stay as they are and are named.

    \b
    Examples:
      dnspanel zones change --where 'shop dnssec:off' --add-tag to-sign --dry-run
      dnspanel zones change a.example b.example --team 3
      dnspanel zones change --where tag:closed --delete --reason 'contract ended' --wait
      dnspanel zones change --where tag:shop --policy Standard --dry-run
      dnspanel zones change --where tag:shop --add-tag eu --job
      dnspanel zones change --undo 12
    """
    if undo is not None:
        if names or where is not None or any(told.values()):
            raise click.UsageError("--undo stands alone.")
        undone = run_to_end(session, _RUNS, {"undo_of": undo}, wait=wait, timeout=timeout)
        show_run(session, _RUNS, undone, _OUTCOMES, carried_out=True)
        return
    if (where is None) == (not names):
        raise click.UsageError("Give --where, or zones.")
    found: dict[str, Any] = {"where": where} if where is not None else {"zones": list(names)}
    act = _act(session, **told)
    if job or act["op"] == "set-policy":
        job_body = {**found, "act": act, "reason": reason}
        _change_as_job(session, job_body, dry_run=dry_run, confirm=confirm, wait=wait, timeout=timeout)
        return
    body = {**found, "act": act, "reason": reason, "confirm": confirm}
    if dry_run:
        _show_preview(session, session.client.send("POST", "/bulk/zones", body, query={"dry_run": True}))
        return
    written = publish(session, "POST", "/bulk/zones", body, wait=wait, timeout=timeout)
    if session.is_json or written["publication"]:
        show_written(session, written, waited=wait)
    if not session.is_json:
        outcome = written["outcome"]
        click.echo(f"{output.count(outcome['changed'], 'zone')} changed, {outcome['unchanged']} had nothing to change.")
        tell_refusals(outcome, _of_zone)
        if act["op"] == "delete":
            tell_way_back(session, written)


def _change_as_job(
    session: Session, body: Mapping[str, Any], *, dry_run: bool, confirm: bool, wait: bool, timeout: int
) -> None:
    done = run_to_end(session, _RUNS, body)
    if not dry_run and done["state"] == "done" and done["counts"].get("change"):
        done = run_to_end(session, _RUNS, {"dry_run_of": done["id"], "confirm": confirm}, wait=wait, timeout=timeout)
        output.tell(f"Job {done['id']}. To take it back: dnspanel zones change --undo {done['id']}")
    show_run(session, _RUNS, done, _OUTCOMES, carried_out=not dry_run, to_carry_out="Without --dry-run")


def _act(
    session: Session,
    *,
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
    team: int | None,
    policy: str | None,
    **flags: bool,
) -> dict[str, Any]:
    """The one act that the options say. Raises UsageError for none, and for several."""
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
        acts.append({"op": "set-policy", "policy": policy_named(session, policy)["id"]})
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
    tell_others(preview)
    tell_refusals(preview, _of_zone)
    output.tell("Nothing was written.")


def _of_zone(refusal: Mapping[str, Any]) -> str:
    return str(refusal["zone"])


for command in (restore, history, undo):
    zones.add_command(command)
