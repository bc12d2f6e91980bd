"""Prepare a node's most frequent queries and its agent's log, fetched only while someone is viewing the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest
from replication.wire.protocol import Counted, Top

MOST_ROWS = 10
MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class TopRow:
    """One row of a list. `type` is empty if the list doesn't count queried names."""

    what: str
    type: str
    count: int
    share: str  # of the list's total count


@dataclass(frozen=True, slots=True)
class TopList:
    """One list of a node's top entries. `empty` is the text for a list without rows."""

    title: str
    rows: tuple[TopRow, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class TopView:
    """One node's lists, and the time of the fetch: None without lists if nothing was fetched in the last minute."""

    at: datetime | None
    lists: tuple[TopList, ...]


def top_of(node: Node) -> TopView:
    """Return the node's lists, which are empty until a fetch, and keep the collector fetching for half a minute."""
    telemetry.watch(node.pk)
    top = telemetry.top(node.pk)
    return view_of(top) if top is not None else TopView(None, ())


def log_for(request: PanelRequest, node: Node) -> list[str] | None:
    """Return the agent's last log lines, and keep the collector fetching. Return None if the user can't change nodes.

    The lines contain zone names.
    """
    telemetry.watch(node.pk)
    return telemetry.log(node.pk)[-MOST_LINES:] if can(request.user, Permission.NODES) else None


def view_of(top: Top) -> TopView:
    """Return a node's top lists for display."""
    lists = [
        _list(gettext("Names"), top.names, gettext("No queries yet.")),
        _list(gettext("Nonexistent names"), top.nxdomain, gettext("No queries for nonexistent names.")),
        _list(gettext("SERVFAIL answers"), top.servfail, gettext("No SERVFAIL answers.")),
        _list(gettext("Refused queries"), top.refused, gettext("No queries for unknown zones.")),
        _list(gettext("Types"), top.types, gettext("No queries yet."), questions=False),
        _list(
            gettext("Answers by rcode (5 minutes)"),
            top.rcodes,
            gettext("No answers in the last 5 minutes."),
            questions=False,
        ),
    ]
    if top.networks:
        lists.append(_list(gettext("Clients by network"), top.networks, "", questions=False))
    return TopView(datetime.fromtimestamp(top.at, UTC), tuple(lists))


def _list(title: str, counted: Sequence[Counted], empty: str, *, questions: bool = True) -> TopList:
    total = sum(item.times for item in counted)
    rows = []
    for item in counted[:MOST_ROWS]:
        name, slash, rrtype = item.what.rpartition("/") if questions else (item.what, "", "")
        share = 100 * item.times / total
        percent = f"{share:.0f} %" if share >= 1 else "< 1 %"
        rows.append(TopRow(name if slash else item.what, rrtype if slash else "", item.times, percent))
    return TopList(title, tuple(rows), empty)
