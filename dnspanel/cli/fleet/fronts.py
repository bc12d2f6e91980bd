"""The command `dnspanel fronts`: show and change the nodes and limits of fronts (dnsdist in front of nodes)."""

from collections.abc import Iterable
from typing import Any

import click

from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session
from dnspanel.cli.zone_paths import segment

_NODES = (
    Column("NODE", "name"),
    Column("ROTATION", lambda row: "in" if row["is_in"] and row["is_up"] else "out", state=True),
    Column("QPS", "qps", right=True),
    Column("MS", "latency_ms", right=True),
    Column("UNANSWERED", "drops", right=True),
    Column("SEQUENCE", "sequence", right=True),
    Column("REASON", "reason"),
)
_BOUNDS = ("minimum", "most_behind", "behind_seconds", "queries_per_second", "cache_entries")


@click.group(cls=Commands)
def fronts() -> None:
    """Manage dnsdist in front of nodes.

    A front is also a node: see `dnspanel nodes list`.
    """


@fronts.command("nodes")
@click.argument("name")
def list_nodes(session: Session, name: str) -> None:
    """List the nodes behind a front."""
    front = session.client.get(f"/nodes/{segment(name)}/front")
    session.show_rows(front["nodes"], _NODES, none="No nodes.")


@fronts.command()
@click.argument("name")
def show(session: Session, name: str) -> None:
    """Show the settings of a front."""
    _show(session, session.client.get(f"/nodes/{segment(name)}/front"))


@fronts.command("set")
@click.argument("name")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="NAME[=WEIGHT]",
    help="Node to query, with a weight. Repeat for several; other nodes are removed.",
)
@click.option("--minimum", type=int, help="Number of nodes that always stay in rotation.")
@click.option("--most-behind", type=int, help="Number of publications that a node in rotation can be behind.")
@click.option("--behind-seconds", type=float, help="Seconds that a node in rotation can be further behind.")
@click.option(
    "--queries-per-second", type=int, help="Limit of queries per second from one client over UDP; 0 for no limit."
)
@click.option("--cache-entries", type=int, help="Number of answers that dnsdist caches; 0 for none.")
def set_front(session: Session, name: str, nodes: tuple[str, ...], **bounds: Any) -> None:
    """Change the nodes and limits of a front."""
    body: dict[str, Any] = {bound: bounds[bound] for bound in _BOUNDS if bounds[bound] is not None}
    if nodes:
        body["backends"] = _weights(nodes)
    _show(session, session.client.send("PATCH", f"/nodes/{segment(name)}/front", body))


def _show(session: Session, front: Any) -> None:
    nodes = ", ".join(f"{name}={weight}" for name, weight in sorted(front["backends"].items()))
    session.show(front, {"nodes": nodes or "none", **{bound.replace("_", " "): front[bound] for bound in _BOUNDS}})


def _weights(nodes: Iterable[str]) -> dict[str, int]:
    """Return the weight of each node, by default 1. Raise Refused if a weight is not a number."""
    found = {}
    for text in nodes:
        name, _, weight = text.partition("=")
        if weight and not (weight.isascii() and weight.isdecimal()):
            raise Refused({"code": "bad-value", "detail": f"{weight} is not a valid weight. Use a whole number."})
        found[name] = int(weight or 1)
    return found
