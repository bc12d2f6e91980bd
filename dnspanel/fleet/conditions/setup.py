"""Find faults in a node's setup: an outdated agent, and differences from the panel's settings. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from dnspanel.conditions import Severity
from dnspanel.texts import gettext


class Setup(NamedTuple):
    """The versions of a node's agent and of the panel, and the differences between the node's setup and the panel's."""

    agent: str = ""
    panel: str = ""
    is_older: bool = False
    differences: tuple[str, ...] = ()


class Fault(NamedTuple):
    """A fault of one node: its kind of alert, its severity and a message."""

    kind: str
    severity: Severity
    message: str


def setup_faults(name: str, setup: Setup) -> Iterator[Fault]:
    """Yield a fault if the agent is older than the panel, and one if the setup differs from the panel's settings."""
    if setup.is_older:
        message = gettext(
            "The agent on {name} ({agent}) is older than the panel. Install the panel’s version, {panel}, on the node."
        ).format(name=name, agent=setup.agent, panel=setup.panel)
        yield Fault("node.agent", Severity.WARNING, message)
    if setup.differences:
        message = gettext("The setup on {name} differs from the panel’s settings. {differences}").format(
            name=name, differences=" ".join(setup.differences)
        )
        yield Fault("node.setup", Severity.WARNING, message)
