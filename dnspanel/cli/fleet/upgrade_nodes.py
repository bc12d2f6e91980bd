"""The command `dnspanel nodes upgrade`: upgrade the agents one after another, and stop at the first failure."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Command, Session
from dnspanel.cli.zone_paths import segment

PAUSE_SECONDS = 1.0


@click.command("upgrade", cls=Command)
@click.argument("names", nargs=-1)
@click.option("--group", help="Only nodes of this group.")
@click.option(
    "--at-once", type=click.IntRange(1, 50), default=1, show_default=True, help="Nodes to upgrade at the same time."
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 86_400),
    default=300,
    show_default=True,
    help="Stop if a node needs more seconds than this.",
)
def upgrade(session: Session, names: Sequence[str], group: str | None, at_once: int, timeout: int) -> None:
    """Upgrade agents to the version of the panel.

    Without NAMES, upgrade all nodes. The first node is upgraded alone. The next nodes follow when the new agent runs,
    the node is in sync, and PowerDNS answers. At the first failure, the command stops and names the node and the
    reason. Run the same command again to continue. Nodes that already have the version are skipped.

    \b
    Examples:
      dnspanel nodes upgrade
      dnspanel nodes upgrade --group first
      dnspanel nodes upgrade ns3 --timeout 600
    """
    rows = [row for row in session.client.items("/nodes") if group in (None, row["group"])]
    if unknown := set(names) - {row["name"] for row in rows}:
        raise click.UsageError(f"There is no node {', '.join(sorted(unknown))}.")
    rows = [row for row in rows if not names or row["name"] in names]
    skipped = {row["name"]: row["upgrade_message"] for row in rows if row["upgrade"] == "unavailable"}
    for name, reason in skipped.items():
        output.tell(f"Not upgraded: {name}: {reason}")
    due = [row for row in rows if row["upgrade"] in ("due", "running", "failed")]
    session.way_on = "To continue with the other nodes, run the same command again."
    done: list[str] = []
    with progress("Upgrading agents") as line:
        while len(done) < len(due):
            line.show(len(done), len(due), "nodes")
            batch = due[len(done) : len(done) + (at_once if done else 1)]
            try:
                for row in batch:
                    session.client.send("POST", f"/nodes/{segment(row['name'])}/upgrade", {})
                for row in batch:
                    _wait(session, row, time.monotonic() + timeout)
                    done.append(row["name"])
            except Refused as exc:
                remaining = ", ".join(row["name"] for row in due if row["name"] not in done)
                detail = f"{exc.message}\nThe upgrade stopped. Nodes without the new agent: {remaining}"
                raise Refused({**exc.problem, "detail": detail}) from exc
    session.way_on = ""
    session.say_done(f"{output.count(len(done), 'agent')} upgraded.", upgraded=done, skipped=skipped)


def _wait(session: Session, before: Mapping[str, Any], until: float) -> None:
    """Wait until the node has the new agent, is in sync, and answers. `before` is the node before the upgrade.

    Raise Refused if the node reports a new failure, or at the time `until` of the monotonic clock.
    """
    while True:
        node = session.client.get(f"/nodes/{segment(before['name'])}")
        message = node["upgrade_message"]
        if node["upgrade"] == "failed" and message != before["upgrade_message"]:
            raise Refused({"detail": f"{node['name']}: {message}"})
        if node["upgrade"] == "current" and node["health"] in ("live", "drained") and node["is_answering"]:
            return
        if time.monotonic() >= until:
            state = " ".join(filter(None, (message, node["sentence"])))
            raise Refused({"detail": f"{node['name']} was not ready in time: {state}"})
        time.sleep(PAUSE_SECONDS)
