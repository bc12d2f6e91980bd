"""Explain the kinds of record values that some nodes' PowerDNS releases can't read."""

import re
from collections.abc import Collection
from typing import Any

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.texts import gettext, joined
from dnspanel.zones.rules.unreadable import READ_SINCE

_MOST_NAMED = 3
_NUMBER = re.compile(r"(\d{1,4})\.(\d{1,4})", re.ASCII)
# The first release that writes a schema, assumed for a node whose PowerDNS release is not known.
_FIRST_OF_SCHEMA = {4: (4, 7), 5: (4, 8), 6: (5, 0)}


def reasons_against(kinds: Collection[int]) -> dict[int, str]:
    """Return a clause for each kind of value that some nodes can't read, with the nodes' names and PowerDNS releases.

    If no node exists yet, the oldest supported release is assumed.
    """
    concerned = sorted(set(kinds) & READ_SINCE.keys())
    if not concerned:
        return {}
    # Includes the canary, because it gets every publication first.
    serving = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_front=False)
    releases = [(node.name, release_of(node)) for node in serving.order_by("-is_ring0", "name")]
    if not releases:
        return {
            kind: gettext("PowerDNS versions before {release} can’t read the value").format(release=_release_text(kind))
            for kind in concerned
        }
    found = {}
    for kind in concerned:
        unable = [(name, number) for name, number in releases if number < READ_SINCE[kind]]
        if unable:
            named = [f"{name} (PowerDNS {major}.{minor})" for name, (major, minor) in unable[:_MOST_NAMED]]
            if len(unable) > _MOST_NAMED:
                named.append(gettext("and {count} more").format(count=len(unable) - _MOST_NAMED))
            found[kind] = gettext("some nodes can’t read the value: {nodes}").format(nodes=joined(", ", named))
    return found


def _release_text(kind: int) -> str:
    return ".".join(map(str, READ_SINCE[kind]))


def release_of(node: Node) -> tuple[int, int]:
    """Return a node's PowerDNS release, such as (4, 9), or the first one with the node's schema if none is reported."""
    reported = _NUMBER.match(read_report(node).powerdns)
    return (int(reported[1]), int(reported[2])) if reported else _FIRST_OF_SCHEMA.get(node.schema, (4, 7))


def answer_who_asks(*, types: Collection[int], **_: Any) -> dict[int, str]:
    """Return `reasons_against` in response to a signal of `zones`, because that package doesn't depend on nodes."""
    return reasons_against(types)
