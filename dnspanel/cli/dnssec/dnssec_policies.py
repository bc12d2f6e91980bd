"""The command `dnspanel dnssec policy`, which shows and sets DNSSEC policies of zones, and applies them."""

from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.waiting import Waiting
from dnspanel.cli.written import waiting_options
from dnspanel.cli.zone_paths import zone_path
from dnspanel.cli.zone_runs import run_to_end, show_run

_RUNS = "/dnssec/policy-runs"
_LISTED = (
    Column("ID", "id", right=True),
    Column("NAME", "name"),
    Column("ALGORITHM", "algorithm", right=True),
    Column("SPLIT", "split"),
    Column("DENIAL", lambda row: row["denial"]["method"].upper()),
    Column("AUTOMATIC", "automatic"),
    Column("NEW ZONES", "signs_new_zones"),
    Column("FIRST DS", "first_ds"),
    Column("DEFAULT", "default"),
)
_FOUND = (Column("ZONE", "zone"), Column("ACT", "act"), Column("WHY", "message"))


@click.group(cls=Commands)
def policy() -> None:
    """Manage DNSSEC policies for zones.

    POLICY is a name or an id.
    """


@policy.command("list")
def list_policies(session: Session) -> None:
    """List the DNSSEC policies."""
    session.show_rows(session.client.items("/dnssec/policies"), _LISTED, none="No policies.")


@policy.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show a zone's DNSSEC policy, and the differences."""
    found = session.client.get(zone_path(zone, "dnssec", "policy"))
    details = {
        "policy": found["policy"]["name"] if found["policy"] else None,
        "from": found["source"] or None,
        "differs": [each["message"] for each in found["differences"]] or None,
        "due": [f"{each['rollover']} since {output.moment(each['since'])}" for each in found["due"]] or None,
    }
    session.show(found, details)


@policy.command("set")
@click.argument("zone")
@click.argument("name", metavar="POLICY")
def set_policy(session: Session, zone: str, name: str) -> None:
    """Set the DNSSEC policy of a zone.

    The zone itself changes only with `dnspanel dnssec policy run`.
    """
    body = {"policy": policy_named(session, name)["id"]}
    found = session.client.send("PUT", zone_path(zone, "dnssec", "policy"), body)
    session.show(found, {"policy": found["policy"]["name"], "from": found["source"]})


@policy.command()
@click.argument("zone")
def unset(session: Session, zone: str) -> None:
    """Remove the DNSSEC policy of a zone.

    The zone then uses the policy of its tags or team, or else the default policy.
    """
    session.client.send("DELETE", zone_path(zone, "dnssec", "policy"))
    session.say_done(f"{zone} has no DNSSEC policy of its own.", zone=zone, policy=None)


@policy.command()
@click.option("--policy", "name", metavar="POLICY", help="Include only zones with this policy.")
@click.option("-q", "--search", default="", help="Include only zones that this search finds.")
@click.option("--apply", is_flag=True, help="Apply the result of the dry run. Without --apply, nothing is written.")
@waiting_options
def run(session: Session, name: str | None, search: str, *, apply: bool, waiting: Waiting) -> None:
    """Bring zones in line with their DNSSEC policies.

    Without --apply, only a dry run is made. Exit code 1 means that zones were refused, or taken back because name
    servers could not serve the new content; these zones are listed with the reason.

    \b
    Examples:
      dnspanel dnssec policy run -q tag:customers
      dnspanel dnssec policy run --policy Standard --apply
    """
    body = {"policy": None if name is None else policy_named(session, name)["id"], "q": search}
    done = run_to_end(session, _RUNS, body)
    if apply:
        body = {"dry_run_of": done["id"]}
        done = run_to_end(session, _RUNS, body, waiting=waiting)
    show_run(session, _RUNS, done, _FOUND, carried_out=apply)


def policy_named(session: Session, name: str) -> Mapping[str, Any]:
    """Return the policy with this name or id. Raise UsageError if no policy matches."""
    return session.find_one("/dnssec/policies", name, "policy")
