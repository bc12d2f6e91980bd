"""The command `dnspanel nodes`: show the state of nodes, and approve, drain, resync, upgrade, revoke or retire them."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.waiting import timeout_option
from dnspanel.cli.zone_paths import segment

PAUSE_SECONDS = 1.0  # between two looks at a node that is upgraded


def _live(member: str) -> Any:
    return lambda row: (row["live"] or {}).get(member)


_LISTED = (
    Column("NODE", "name"),
    Column("HEALTH", "health", state=True),
    Column("SEQUENCE", "sequence", right=True),
    Column("LAG", "lag", right=True),
    Column("QPS", _live("qps"), right=True),
    Column("MS", _live("latency_ms"), right=True),
    Column("CACHE", lambda row: _percent(row), right=True),
    Column("AGENT", "agent"),
    Column("ADDRESS", lambda row: f"{row['dns_address']} {row['dns_port']}"),
)


@click.group(cls=Commands)
def nodes() -> None:
    """Manage the name servers that answer for the zones."""


@nodes.command("list")
def list_nodes(session: Session) -> None:
    """List the nodes with their state and live numbers.

    \b
    Examples:
      dnspanel nodes list
      dnspanel nodes list --output json
    """
    session.show_rows(session.client.items("/nodes"), _LISTED, none="No nodes.")


@nodes.command()
@click.argument("name")
def show(session: Session, name: str) -> None:
    """Show the details of a node."""
    node = session.client.get(f"/nodes/{segment(name)}")
    live = node["live"] or {}
    details = {
        **{word: node[word] for word in ("name", "state", "health", "sentence", "sequence", "head", "lag")},
        "queries per second": live.get("qps"),
        "latency": None if live.get("latency_ms") is None else f"{live['latency_ms']:.2f} ms",
        "last contact": output.moment(node["contact_at"]),
        "DNS": f"{node['dns_address']} port {node['dns_port']}",
        "public addresses": node["public_addresses"] or None,
        "agent": f"{node['agent_host']} port {node['agent_port']}",
        "agent version": f"{node['agent']} (older than the panel)" if node["agent_is_older"] else node["agent"] or None,
        "upgrade": " ".join(filter(None, (node["upgrade"], node["upgrade_message"]))),
        "not as in the panel": node["setup_differences"] or None,
    }
    session.show(node, details)


@nodes.command()
@click.argument("name")
@click.option("--fingerprint", help="Fingerprint that `join` printed on the server; the default is to ask you.")
def approve(session: Session, name: str, fingerprint: str | None) -> None:
    """Approve a server that asks to join as a node.

    First compare the fingerprint that `join` printed on the server with the fingerprint on the node's page.
    """
    waiting = session.client.get(f"/nodes/{segment(name)}")["fingerprint"]
    if waiting is None:
        raise Refused({"detail": f"No server asks to join as {name}. Run `join` on the server with a code first."})
    if fingerprint is None:
        output.tell(f"The server that asks to join as {name} has the fingerprint\n{waiting}")
        session.ask("Did `join` print the same fingerprint on the server?")
    _act(session, name, "approve", {"fingerprint": fingerprint or waiting})


@nodes.command()
@click.argument("name")
@click.option("--reason", default="", help="Reason for the page of the node.")
def drain(session: Session, name: str, reason: str) -> None:
    """Pause updates to a node.

    The node continues to answer queries with its current zones.
    """
    _act(session, name, "drain", {"reason": reason})


@nodes.command()
@click.argument("name")
def resume(session: Session, name: str) -> None:
    """Resume updates to a node."""
    _act(session, name, "resume")


@nodes.command()
@click.argument("name")
def resync(session: Session, name: str) -> None:
    """Send a full snapshot to a node.

    The node continues to answer queries during the transfer.
    """
    _act(session, name, "resync")


@nodes.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def revoke(session: Session, name: str, *, yes: bool) -> None:
    """Revoke the certificate of a node.

    The node must enroll again. Until then, it answers queries with its current zones.
    """
    if not yes:
        session.ask(f"Revoke the certificate of {name}?")
    _act(session, name, "revoke")


@nodes.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def retire(session: Session, name: str, *, yes: bool) -> None:
    """Retire a node permanently.

    A new node can use the name.
    """
    if not yes:
        session.ask(f"Retire {name} for good?")
    _act(session, name, "retire")


@nodes.command()
@click.argument("names", nargs=-1)
@click.option("--group", help="Upgrade only nodes of this group.")
@click.option(
    "--at-once", type=click.IntRange(1, 50), default=1, show_default=True, help="Nodes to upgrade at the same time."
)
@timeout_option("Stop if a node needs more seconds than this.", 300)
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
                    _wait_for_upgrade(session, row, time.monotonic() + timeout)
                    done.append(row["name"])
            except Refused as exc:
                remaining = ", ".join(row["name"] for row in due if row["name"] not in done)
                detail = f"{exc.message}\nThe upgrade stopped. Nodes without the new agent: {remaining}"
                raise Refused({**exc.problem, "detail": detail}) from exc
    session.way_on = ""
    session.say_done(f"{output.count(len(done), 'agent')} upgraded.", upgraded=done, skipped=skipped)


@nodes.command()
@click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds between two updates."
)
@click.option("--count", type=click.IntRange(min=1), help="Stop after this many updates.")
def watch(session: Session, interval: float, count: int | None) -> None:
    """Show the nodes, refreshed until Ctrl-C.

    With --output json, every update is one line.
    """
    looks = 0
    while True:
        rows = list(session.client.items("/nodes"))
        if session.is_json:
            output.show_json_line(rows)
        else:
            click.clear()  # does nothing without a terminal
            output.show_table(rows, _LISTED, none="No nodes.")
        looks += 1
        if looks == count:
            return
        time.sleep(interval)


def _wait_for_upgrade(session: Session, before: Mapping[str, Any], until: float) -> None:
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


def _act(session: Session, name: str, act: str, body: Mapping[str, str] | None = None) -> None:
    node = session.client.send("POST", f"/nodes/{segment(name)}/{act}", body or {})
    session.show(node, {word: node[word] for word in ("name", "slug", "state", "health", "sentence")})


def _percent(row: Mapping[str, Any]) -> str | None:
    share = (row["live"] or {}).get("cache_hit")
    return None if share is None else f"{share:.0%}"
