"""What the servers of the parents of zones answer whose keys are being rolled over: nodes of ours, or others by DNS."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dnspanel.fleet.dnssec import resolver
from dnspanel.fleet.dnssec.parent_dns import look_at_nameservers, look_at_parent
from dnspanel.fleet.models import Divergence, Node, NodeState
from dnspanel.outbound import is_allowed
from dnspanel.texts import gettext
from dnspanel.zones.models import Rollover
from dnspanel.zones.signing import parent_zone
from dnspanel.zones.signing.parent_zone import AnsweredDs

# Servers of others are asked this often, by the rollover's clock.
ASK_EVERY = timedelta(seconds=60)
# Each of them with a pool of its own for the servers of one parent.
_AT_ONCE = 8
# As many are asked in one piece; the others have their turn at the next look, those that waited longest first.
MOST_QUERIED = 100


@dataclass(frozen=True, slots=True)
class ParentAnswer:
    """The DS RRsets that servers of a parent may answer with, their TTL, or why that is not known."""

    sets: tuple[tuple[str, ...], ...] = ()
    ttl: int = 0
    silent: str = ""


def ask_parents(rows: Sequence[Rollover], *, acked: int, now: datetime, port: int = 53) -> dict[int, ParentAnswer]:
    """Return the answers for rollovers, by their ids, without those whose parent was asked a moment ago.

    For a parent that is a zone of this panel it is known what nodes may answer: everything up to the sequence
    `acked`, which the slowest of them has acked, unless a node answers with something else in it. Its name servers
    that are no nodes are asked, as all are of a parent elsewhere.
    """
    found: dict[int, ParentAnswer] = {}
    here = {row.pk: parent_zone.answered_ds(row.zone.name, acked=acked, now=now) for row in rows}
    diverged = _diverged_nodes([each.parent_id for each in here.values() if each is not None])
    nodes_at = Node.objects.values_list("dns_address", "public_addresses") if any(here.values()) else ()
    addresses = {address for own, public in nodes_at for address in (own, *public)}
    due = []
    for row in rows:
        parent = here[row.pk]
        if parent is not None and parent.parent_id in diverged:
            nodes = ", ".join(diverged[parent.parent_id])
            found[row.pk] = ParentAnswer(
                silent=gettext("{nodes} answers with something else in {parent}").format(
                    nodes=nodes, parent=parent.parent
                )
            )
        elif parent is not None and not _others(parent, addresses):
            found[row.pk] = ParentAnswer(parent.sets, parent.ttl)
        elif row.parent_silent or row.clock - row.parent_at >= ASK_EVERY:
            due.append(row)
    due = sorted(due, key=lambda row: row.parent_at)[:MOST_QUERIED]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="parents") as pool:
        answers = pool.map(lambda row: _ask(row.zone.name, here[row.pk], addresses, port), due)
        return found | dict(zip([row.pk for row in due], answers, strict=True))


def _diverged_nodes(zone_ids: Collection[int]) -> dict[int, list[str]]:
    """Return the nodes that answer with something else in these zones, by the zones' ids."""
    rows = Divergence.objects.filter(
        zone_id__in=zone_ids,
        repaired_at=None,
        node__state__in=(NodeState.ACTIVE, NodeState.DRAINED),
        node__is_ring0=False,
    )
    found: dict[int, list[str]] = {}
    for zone_id, name in rows.order_by("node__name").values_list("zone_id", "node__name"):
        found.setdefault(zone_id, []).append(name)
    return found


def _others(parent: AnsweredDs, nodes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the name servers of a parent here that are no nodes, with the addresses that are known here.

    Nodes are those at a node's address, and the servers that new zones get, unless zones here have a public address for
    one: behind a translation of addresses it is not the node's.
    """
    ours = set(settings.DEFAULT_NAMESERVERS)
    return {
        host: addresses
        for host, addresses in parent.nameservers.items()
        if not set(addresses) & set(nodes)
        and not (host in ours and not any(is_allowed(address, settings.SOURCE_NETWORKS) for address in addresses))
    }


def _ask(zone_name: str, here: AnsweredDs | None, nodes: Collection[str], port: int) -> ParentAnswer:
    by, networks = resolver.resolver_of_settings(), settings.SOURCE_NETWORKS
    if here is None:
        look = look_at_parent(zone_name, resolver=by, networks=networks, port=port)
    else:
        look = look_at_nameservers(
            zone_name, here.parent, _others(here, nodes), resolver=by, networks=networks, port=port
        )
    if look.silent:
        return ParentAnswer(silent=look.silent)
    sets: tuple[tuple[str, ...], ...] = here.sets if here is not None else ()
    ttl = here.ttl if here is not None else 0
    return ParentAnswer(tuple(dict.fromkeys((*sets, *look.servers.values()))), max(ttl, look.ttl or 0))
