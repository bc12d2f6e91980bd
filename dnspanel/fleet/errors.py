"""Errors about nodes, as one tree. Every message can be shown to the person or agent that caused it.

FleetError
├── UnknownNode             no node has this name
├── NameTaken               another node has this name
├── BadNode                 an invalid value of a node
│   └── BadFront            an invalid value of a front
├── WrongState              the node's state does not allow this action
├── GroupRefused            an invalid value or action of a group
├── DeliveryRefused         delivery can't be stopped, pinned or resumed like this
├── WrongDecision           a decision about a lost history that can't be carried out
├── CodeRefused             an unknown, expired or used code
└── BadRequest              an unacceptable certificate signing request
"""

from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext


class FleetError(Exception):
    """Base class of errors about nodes. Each message explains how to correct the cause."""


class UnknownNode(FleetError, NotFound):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("Node {name} not found.").format(name=name))


class NameTaken(FleetError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("A node named {name} already exists.").format(name=name))


class BadNode(FleetError):
    """An invalid value of a node. `field` names the value."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class BadFront(BadNode):
    """An invalid value of a front."""


class WrongState(FleetError):
    """The node's state doesn't allow this action, for example because another user has just changed it."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(gettext("{name} {reason}.").format(name=name, reason=reason))


class GroupRefused(FleetError):
    """A value or action is invalid for a group. `field` names the invalid value, or is empty for an action."""

    def __init__(self, reason: str, *, field: str = "") -> None:
        self.field = field
        super().__init__(reason)


class DeliveryRefused(FleetError):
    """The requested change to delivery isn't possible now. The message explains what is possible."""


class WrongDecision(FleetError):
    """A decision about a lost history can't be carried out. `field` names the invalid value."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class CodeRefused(FleetError):
    """An unknown, expired or used code. The error is the same for all three, so strangers learn nothing from it."""

    def __init__(self) -> None:
        super().__init__(
            gettext("The code is invalid, expired or already used. Generate a new code on the node’s page.")
        )


class BadRequest(FleetError):
    """A certificate signing request that the panel doesn't sign."""

    def __init__(self, reason: str) -> None:
        super().__init__(gettext("The certificate signing request couldn’t be used: {reason}.").format(reason=reason))
