"""Query the addresses at which resolvers reach nodes."""

from collections.abc import Collection

from dnspanel.fleet.models import Node, NodeState

_IN_USE = (NodeState.ACTIVE, NodeState.DRAINED)  # a drained node is left out of pushes, not of delegations


def public_addresses(node_names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return each node's public addresses, or else its DNS address, keyed by node name.

    Omit ring 0, and nodes that are retired or not yet enrolled. This needs one query, or none if there are no names.
    """
    if not node_names:
        return {}
    nodes = Node.objects.filter(name__in=node_names, state__in=_IN_USE, is_ring0=False)
    found = nodes.values_list("name", "public_addresses", "dns_address")
    return {name: tuple(addresses) or (own,) for name, addresses, own in found}
