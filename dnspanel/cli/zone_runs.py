"""Runs over many zones: begun, waited for, and what they found as text."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session

POLL_SECONDS = 0.5
_UNDER_WAY = ("waiting", "running")


def run_to_end(session: Session, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The run that this begins, once it has ended. Who interrupts the command leaves it to the panel."""
    found: Mapping[str, Any] = session.client.send("POST", path, body)
    while found["state"] in _UNDER_WAY:
        time.sleep(POLL_SECONDS)
        found = session.client.get(f"{path}/{found['id']}")
    if found["failure"]:
        output.tell(found["failure"])
    return found


def show_run(
    session: Session,
    path: str,
    run: Mapping[str, Any],
    columns: Sequence[Column],
    *,
    carried_out: bool,
    to_carry_out: str = "With --apply",
) -> None:
    """What a run found or did, zone by zone and counted. Exits with 1 if it failed, or refused a zone.

    `to_carry_out` is what a dry run says of how it is carried out.
    """
    if session.is_json:
        output.show_json(run)
    else:
        session.show_rows(session.client.items(f"{path}/{run['id']}/zones"), columns, none="No zone.")
        output.tell(", ".join(f"{count:,} {finding}" for finding, count in run["counts"].items()))
    if not carried_out:
        output.tell(f"Nothing was written. {to_carry_out} it is carried out.")
    if run["state"] != "done" or run["counts"].get("refused"):
        raise click.exceptions.Exit(Refused.exit_code)
