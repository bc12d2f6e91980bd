"""Compare a node's reported setup with the panel's records. Pure.

Both the panel and the server's own configuration contain the name, role, schema, addresses and ports. If they differ, a
node can look healthy and still not do its job. For example, a canary on another port is live, but signed zones can't be
transferred from it.
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
    """Return a sentence for each difference between the setup in the node's last report and the panel's records.

    Values that an older agent doesn't report aren't compared. During a rebuild, both schemas are valid.
    """
    return tuple(_differences(node, is_rebuilding=is_rebuilding)) if node.report else ()


def _differences(node: Node, *, is_rebuilding: bool) -> Iterator[str]:
    report, known = node.report, settings_of(node)
    if (name := str(report.get("node") or node.name)) != node.name:
        yield gettext("Node name: {reported} on the server, {known} in the panel.").format(
            reported=name, known=node.name
        )
    if (role := report.get("role") or known.role) != known.role:
        yield gettext("Role: {reported} on the server, {known} in the panel.").format(
            reported=gettext(ROLES.get(role, str(role))), known=gettext(ROLES[known.role])
        )
    expected = Endpoint(known.dns_address, known.dns_port)
    listening = _endpoints(report.get("listen") or ())
    if listening and not any(serves(each, expected) for each in listening):
        yield gettext("DNS address: {reported} on the server, {known} in the panel.").format(
            reported=", ".join(map(str, listening)), known=expected
        )
    if (port := report.get("agent_port") or known.agent_port) != known.agent_port:
        yield gettext("Agent port: {reported} on the server, {known} in the panel.").format(
            reported=port, known=known.agent_port
        )
    # A front reads segments of any schema, and keeps no files.
    schema = report.get("schema") or node.schema
    if schema != node.schema and not node.is_front and not is_rebuilding:
        yield gettext("Schema: {reported} on the server, {known} in the panel.").format(
            reported=schema, known=node.schema
        )


def _endpoints(texts: object) -> list[Endpoint]:
    """Parse the endpoints. Return an empty list if the report contains no valid list."""
    try:
        return [parse_endpoint(text) for text in texts] if isinstance(texts, list | tuple) else []
    except ValueError:
        return []
