"""Compare how a node says that it is set up with what the panel has of it. Pure.

Name, role, schema, addresses and ports are in the panel and, since a server joined, in its own configuration too.
Where the two differ the node can look well and still not do what it is for: a canary on another port is live, and
signed zones cannot be transferred from it.
"""

from collections.abc import Iterator

from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.node_lifecycle import settings_of
from dnspanel.texts import gettext, gettext_noop
from replication.wire.enrolment import Role
from replication.wire.front_messages import Endpoint, parse_endpoint, serves

ROLES = {
    Role.NODE: gettext_noop("a node"),
    Role.CANARY: gettext_noop("the canary"),
    Role.FRONT: gettext_noop("a front"),
}


def setup_differences(node: Node, *, is_rebuilding: bool) -> tuple[str, ...]:
    """Return a sentence for each difference between the node's last report and the panel.

    What an older agent does not report is not compared. While the files are rebuilt, two schemas are expected.
    """
    return tuple(_differences(node, is_rebuilding=is_rebuilding)) if node.report else ()


def _differences(node: Node, *, is_rebuilding: bool) -> Iterator[str]:
    report, known = node.report, settings_of(node)
    if (name := str(report.get("node") or node.name)) != node.name:
        yield gettext("Its name on the server is {reported}; in the panel it is {known}.").format(
            reported=name, known=node.name
        )
    if (role := report.get("role") or known.role) != known.role:
        yield gettext("It joined as {reported}; the panel has it as {known}.").format(
            reported=gettext(ROLES.get(role, str(role))), known=gettext(ROLES[known.role])
        )
    expected = Endpoint(known.dns_address, known.dns_port)
    listening = _endpoints(report.get("listen") or ())
    if listening and not any(serves(each, expected) for each in listening):
        yield gettext("It answers at {reported}; the panel has {known}.").format(
            reported=", ".join(map(str, listening)), known=expected
        )
    if (port := report.get("agent_port") or known.agent_port) != known.agent_port:
        yield gettext("Its agent listens on port {reported}; the panel calls port {known}.").format(
            reported=port, known=known.agent_port
        )
    # A front reads segments of any schema, and keeps no files.
    schema = report.get("schema") or node.schema
    if schema != node.schema and not node.is_front and not is_rebuilding:
        yield gettext("Its files have schema {reported}; the panel has {known}.").format(
            reported=schema, known=node.schema
        )


def _endpoints(texts: object) -> list[Endpoint]:
    """Return the addresses that can be read; none of a report that is not a list of them."""
    try:
        return [parse_endpoint(text) for text in texts] if isinstance(texts, list | tuple) else []
    except ValueError:
        return []
