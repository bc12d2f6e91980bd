"""`dnspanel nodes`: how the name servers stand."""

import time
from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.zone_paths import segment


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
    Column("ADDRESS", lambda row: f"{row['dns_address']} {row['dns_port']}"),
)


@click.group()
def nodes() -> None:
    """Nodes: the name servers that answer with the zones."""


@nodes.command("list")
@shared_options
@pass_session
def list_nodes(session: Session) -> None:
    """List the nodes, how each is doing, and its live numbers."""
    session.show_rows(session.client.items("/nodes"), _LISTED, none="No node.")


@nodes.command()
@click.argument("name")
@shared_options
@pass_session
def show(session: Session, name: str) -> None:
    """Show a node."""
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
        "not as in the panel": node["setup_differences"] or None,
    }
    session.show(node, details)


@nodes.command()
@click.argument("name")
@click.option("--fingerprint", help="What `join` printed on the server; without it you are asked to compare.")
@shared_options
@pass_session
def approve(session: Session, name: str, fingerprint: str | None) -> None:
    """Approve the server that asks to be this node.

    The fingerprint is that of its request: the one that `join` printed on the server, and that the node's page shows.
    """
    waiting = session.client.get(f"/nodes/{segment(name)}")["fingerprint"]
    if waiting is None:
        raise Refused({"detail": f"No server asks to be {name}. Run `join` there with a code first."})
    if fingerprint is None:
        output.tell(f"The server that asks to be {name} has the fingerprint\n{waiting}")
        session.ask("Did `join` print the same fingerprint on the server?")
    _act(session, name, "approve", {"fingerprint": fingerprint or waiting})


@nodes.command()
@click.argument("name")
@click.option("--reason", default="", help="Why, for the node's page.")
@shared_options
@pass_session
def drain(session: Session, name: str, reason: str) -> None:
    """Push nothing to a node until it is resumed. It goes on answering."""
    _act(session, name, "drain", {"reason": reason})


@nodes.command()
@click.argument("name")
@shared_options
@pass_session
def resume(session: Session, name: str) -> None:
    """Push to a drained node again."""
    _act(session, name, "resume")


@nodes.command()
@click.argument("name")
@shared_options
@pass_session
def resync(session: Session, name: str) -> None:
    """Send a node a whole snapshot. It goes on answering."""
    _act(session, name, "resync")


@nodes.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@pass_session
def revoke(session: Session, name: str, yes: bool) -> None:
    """Revoke the certificate of a node, which then has to enroll again. It goes on answering."""
    if not yes:
        session.ask(f"Revoke the certificate of {name}?")
    _act(session, name, "revoke")


@nodes.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@pass_session
def retire(session: Session, name: str, yes: bool) -> None:
    """Retire a node for good. A new node can take its name."""
    if not yes:
        session.ask(f"Retire {name} for good?")
    _act(session, name, "retire")


@nodes.command()
@click.option("--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds.")
@click.option("--count", type=click.IntRange(min=1), help="Look so many times; else until Ctrl-C.")
@shared_options
@pass_session
def watch(session: Session, interval: float, count: int | None) -> None:
    """Show the nodes again and again.

    With --output json: one line for each look.
    """
    looks = 0
    while True:
        rows = list(session.client.items("/nodes"))
        if session.is_json:
            output.show_json_line(rows)
        else:
            click.clear()  # does nothing where no terminal is
            output.show_table(rows, _LISTED, none="No node.")
        looks += 1
        if looks == count:
            return
        time.sleep(interval)


def _act(session: Session, name: str, act: str, body: Mapping[str, str] | None = None) -> None:
    """Do something to a node, and show what it is now."""
    node = session.client.send("POST", f"/nodes/{segment(name)}/acts/{act}", body or {})
    session.show(node, {word: node[word] for word in ("name", "slug", "state", "health", "sentence")})


def _percent(row: Mapping[str, Any]) -> str | None:
    share = (row["live"] or {}).get("cache_hit")
    return None if share is None else f"{share:.0%}"
