"""Start runs over many zones, wait for them, and show their results."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused, TakenBack
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Session
from dnspanel.cli.waiting import NOT_WAITING, Waiting, wait_for

POLL_SECONDS = 0.5
_UNDER_WAY = ("waiting", "running")


def run_to_end(
    session: Session, path: str, body: Mapping[str, Any], *, waiting: Waiting = NOT_WAITING
) -> Mapping[str, Any]:
    """Start a run, wait until it ends, and return it.

    If `waiting.wait` is set, wait for the nodes too. The panel continues the run if the command is interrupted.
    """
    found: Mapping[str, Any] = session.client.send("POST", path, body)
    session.way_on = f"The panel goes on with job {found['id']}: GET /api/v2{path}/{found['id']}"
    with progress(f"Job {found['id']}") as line:
        while found["state"] in _UNDER_WAY:
            line.show(found["zones_done"], found["zones_total"], "zones")
            time.sleep(POLL_SECONDS)
            found = session.client.get(f"{path}/{found['id']}")
    session.way_on = ""
    if found["failure"]:
        output.tell(found["failure"])
    if waiting.wait and found["last_sequence"]:
        with suppress(TakenBack):  # the run lists its publications that were taken back
            wait_for(session, found["last_sequence"], waiting.timeout)
        found = session.client.get(f"{path}/{found['id']}")
    return found


def show_run(
    session: Session,
    path: str,
    run: Mapping[str, Any],
    columns: Sequence[output.Column],
    *,
    carried_out: bool,
    to_carry_out: str = "With --apply",
) -> None:
    """Show a run: as JSON, or as a table of each zone's result, followed by the totals.

    Exit with 1 if the run didn't finish, refused a zone, or had a publication taken back. If `carried_out` is False,
    say how to apply the result, in a sentence that begins with `to_carry_out`.
    """
    if session.is_json:
        output.show_json(run)
    else:
        session.show_rows(session.client.items(f"{path}/{run['id']}/zones"), columns, none="No zones.")
        output.tell(", ".join(f"{count:,} {finding}" for finding, count in run["counts"].items()))
    if not carried_out:
        output.tell(f"Nothing was written. {to_carry_out} the job is carried out.")
    for batch in run["taken_back"]:
        zones = output.count(batch["zones"], "zone")
        output.tell(f"Taken back, because the name servers could not answer with it: {zones}. {batch['reason']}")
    if run["state"] != "done" or run["counts"].get("refused") or run["taken_back"]:
        raise click.exceptions.Exit(Refused.exit_code)
