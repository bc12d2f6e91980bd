"""`dnspanel nodes`: how the name servers stand."""

import time
from collections.abc import Mapping
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
from dnspanel.cli.zone_paths import segment


def _live(member: str) -> Any:
    return lambda row: (row["live"] or {}).get(member)


_LISTED = (
    Column("NODE", "name"),
    Column("HEALTH", "health"),
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
    }
    session.show(node, details)


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


def _percent(row: Mapping[str, Any]) -> str | None:
    share = (row["live"] or {}).get("cache_hit")
    return None if share is None else f"{share:.0%}"
