"""`dnspanel fronts`: dnsdist in front of nodes, whom each asks, and within which bounds."""

from collections.abc import Iterable
from typing import Any

import click

from dnspanel.cli.errors import Refused
from dnspanel.cli.output import Column
from dnspanel.cli.session import Session, pass_session, shared_options
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


@click.group()
def fronts() -> None:
    """Fronts: dnsdist in front of nodes. Each is a node too: `dnspanel nodes list`."""


@fronts.command("nodes")
@click.argument("name")
@shared_options
@pass_session
def list_nodes(session: Session, name: str) -> None:
    """List the nodes behind a front, and which of them it asks."""
    front = session.client.get(f"/nodes/{segment(name)}/front")
    session.show_rows(front["nodes"], _NODES, none="No node.")


@fronts.command()
@click.argument("name")
@shared_options
@pass_session
def show(session: Session, name: str) -> None:
    """Show what a front is set to."""
    _show(session, session.client.get(f"/nodes/{segment(name)}/front"))


@fronts.command("set")
@click.argument("name")
@click.option("--node", "nodes", multiple=True, metavar="NAME[=WEIGHT]", help="All nodes that it asks from now on.")
@click.option("--minimum", type=int, help="So many nodes stay in rotation, however late.")
@click.option("--most-behind", type=int, help="So many publications a node may lack for any time.")
@click.option("--behind-seconds", type=float, help="How long it may lack more.")
@click.option("--queries-per-second", type=int, help="Of one client over UDP; 0: no limit.")
@click.option("--cache-entries", type=int, help="Answers that dnsdist keeps; 0: none.")
@shared_options
@pass_session
def set_front(session: Session, name: str, nodes: tuple[str, ...], **bounds: Any) -> None:
    """Change which nodes a front asks, and within which bounds."""
    body: dict[str, Any] = {bound: bounds[bound] for bound in _BOUNDS if bounds[bound] is not None}
    if nodes:
        body["backends"] = _weights(nodes)
    _show(session, session.client.send("PATCH", f"/nodes/{segment(name)}/front", body))


def _show(session: Session, front: Any) -> None:
    nodes = ", ".join(f"{name}={weight}" for name, weight in sorted(front["backends"].items()))
    session.show(front, {"nodes": nodes or "none", **{bound.replace("_", " "): front[bound] for bound in _BOUNDS}})


def _weights(nodes: Iterable[str]) -> dict[str, int]:
    """The weight of each node; raises Refused for one that is no number."""
    found = {}
    for text in nodes:
        name, _, weight = text.partition("=")
        if weight and not (weight.isascii() and weight.isdecimal()):
            raise Refused({"code": "bad-value", "detail": f"{weight} is no weight."})
        found[name] = int(weight or 1)
    return found
