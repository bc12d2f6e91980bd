"""Wait until all nodes, and with `--all` also all secondaries, serve a publication.

A timeout raises no exception: the command prints its result and the servers that are behind, and exits with 3.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.errors import NotEverywhere, Refused, TakenBack
from dnspanel.cli.progress import is_visible, progress
from dnspanel.cli.session import C, Command, Session
from dnspanel.cli.zone_paths import zone_path

# The panel ends a waiting request after this many seconds, and the command then sends another one.
LONGEST_REQUEST = 60
# The same on a terminal, so that progress is shown.
_WATCHED_REQUEST = 2
DEFAULT_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Waiting:
    """The options for waiting until all nodes serve a change, with a timeout in seconds."""

    wait: bool = False
    timeout: int = DEFAULT_TIMEOUT


NOT_WAITING = Waiting()


def timeout_option(text: str, default: int = DEFAULT_TIMEOUT) -> Callable[[C], C]:
    """Return the option `--timeout`, a number of seconds, with this help text."""
    return click.option("--timeout", type=click.IntRange(1, 86_400), default=default, show_default=True, help=text)


@click.command("wait", cls=Command)
@click.argument("sequence", type=click.IntRange(min=1), required=False)
@click.option("--zone", help="Wait for the newest publication of this zone.")
@timeout_option("Stop waiting after this many seconds.")
@click.option("--all", "with_secondaries", is_flag=True, help="Wait for secondaries too.")
def wait(session: Session, sequence: int | None, zone: str | None, timeout: int, *, with_secondaries: bool) -> None:
    """Wait until every node serves a publication.

    Without SEQUENCE and --zone, wait for the newest publication that the token can see. Exit code 3 means that a node
    or a secondary was late; the message names the late servers. Exit code 1 means that the publication was taken back
    because the name servers could not serve it.

    \b
    Examples:
      dnspanel wait 4711
      dnspanel wait --zone example.net --all --timeout 300
    """
    if sequence is not None and zone is not None:
        raise click.UsageError("Give SEQUENCE or --zone, not both.")
    if zone is not None:
        sequence = session.client.get(zone_path(zone))["sequence"]
    elif sequence is None:
        newest = next(session.client.items("/publications", limit=1), None)
        if newest is None:
            raise Refused({"detail": "Nothing has been published yet."})
        sequence = int(newest["sequence"])
    publication = wait_for(session, sequence, timeout, with_secondaries=with_secondaries)
    session.show(publication, details_of(publication))


def wait_for(session: Session, sequence: int, timeout: int, *, with_secondaries: bool = False) -> Mapping[str, Any]:
    """Wait until every node serves the publication, or until the timeout. Return the publication.

    If `with_secondaries` is True, wait for secondaries too. After a timeout, `session.late` names the servers that are
    behind. Raise TakenBack as soon as the publication is taken back.
    """
    until = time.monotonic() + timeout
    query = {"wait_for": "all"} if with_secondaries else {}
    session.way_on = f"Publication {sequence} is saved. To wait for it again: dnspanel wait {sequence}"
    with progress(f"Waiting for publication {sequence}") as line:
        while True:
            longest = _WATCHED_REQUEST if is_visible() else LONGEST_REQUEST
            left = max(0, min(longest, math.ceil(until - time.monotonic())))
            publication = _publication(session, sequence, wait=left, **query)
            line.show(publication["reached"], publication["of"], "nodes")
            if publication["everywhere"] and publication["at_secondaries"] is not False:
                break
            if time.monotonic() >= until:
                session.late = NotEverywhere(
                    f"Publication {sequence} is on {_reach_text(publication)}{_late(publication)}", sequence
                )
                break
    session.way_on = ""
    return publication


def _publication(session: Session, sequence: int, **query: Any) -> Mapping[str, Any]:
    """Return a publication. Raise TakenBack if it was taken back."""
    try:
        publication: Mapping[str, Any] = session.client.get(f"/publications/{sequence}", **query)
    except Refused as exc:
        raise TakenBack(exc.problem) if exc.code == "taken-back" else exc from exc
    if publication["taken_back"]:
        raise TakenBack(_taken_back_problem(publication))
    return publication


def _taken_back_problem(publication: Mapping[str, Any]) -> Mapping[str, Any]:
    reason = publication["taken_back"]["reason"]
    detail = f"Publication {publication['sequence']} was taken back: the name servers could not answer with it."
    return {"code": "taken-back", "detail": detail, "reasons": [reason] if reason else []}


def details_of(publication: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the details of a publication to show to people."""
    nodes = publication["nodes"] or []
    return {
        "publication": publication["sequence"],
        "saved": output.moment(publication["at"]),
        "answered by": _reach_text(publication),
        **{node["node"]: f"after {node['ms']:,.0f} ms" if node["ms"] is not None else "pending" for node in nodes},
    }


def _reach_text(publication: Mapping[str, Any]) -> str:
    return f"{publication['reached']} of {publication['of']} nodes"


def _late(publication: Mapping[str, Any]) -> str:
    late = [f"{node['node']}: {node['detail']}" for node in publication["nodes"] or () if node["state"] != "answers"]
    late += publication["secondaries_lacking"] or ()
    return "\n  ".join([".", *late])
