"""Read the DS records at the parents of zones in a key rollover, from this panel or over DNS."""

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

# Foreign servers are queried this often, by the rollover's clock.
ASK_EVERY = timedelta(seconds=60)
# The number of parents queried in parallel, each with its own pool for the parent's servers.
_AT_ONCE = 8
# One run queries this many parents. The next run queries the others, starting with those that have waited longest.
MOST_QUERIED = 100


@dataclass(frozen=True, slots=True)
class ParentAnswer:
    """The DS RRsets that a parent's servers can return and their TTL, or the reason why they are unknown."""

    sets: tuple[tuple[str, ...], ...] = ()
    ttl: int = 0
    silent: str = ""


def ask_parents(rows: Sequence[Rollover], *, acked: int, now: datetime, port: int = 53) -> dict[int, ParentAnswer]:
    """Return the parents' answers, keyed by rollover id. Omit parents whose servers another run must query over DNS.

    Every node has acknowledged the sequence `acked`. If the parent zone is on this panel, a node can answer with any
    state of that zone since then. The answers are unknown if nodes diverge in that zone. Name servers of the parent
    zone that aren't nodes are queried over DNS, like all servers of other parents.
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
                silent=gettext("{nodes} answered with different records in {parent}").format(
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


def _others(parent: parent_zone.AnsweredDs, nodes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the name servers of a parent zone on this panel that aren't nodes, with their known addresses.

    A server is a node if it has a node's address. It also counts as a node if it is a default name server for new
    zones, and no zone of the panel contains a public address for it. Behind address translation, a node's public
    address can differ from the address that the panel knows.
    """
    ours = set(settings.DEFAULT_NAMESERVERS)
    return {
        host: addresses
        for host, addresses in parent.nameservers.items()
        if not set(addresses) & set(nodes)
        and not (host in ours and not any(is_allowed(address, settings.SOURCE_NETWORKS) for address in addresses))
    }


def _ask(zone_name: str, here: parent_zone.AnsweredDs | None, nodes: Collection[str], port: int) -> ParentAnswer:
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
