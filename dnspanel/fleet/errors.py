"""What may go wrong with nodes, as one tree. Every message can be shown to the person or agent who caused it.

FleetError
├── UnknownNode             no node of this name
├── NameTaken               a node of this name exists
├── BadNode                 a value that makes no node
├── BadFront                a value that no front can have
├── WrongState              the node's state does not allow this act
├── GroupRefused            a group cannot be so, or not go
├── DeliveryRefused         delivery cannot be stopped, pinned or go on like this
├── WrongDecision           what was decided about a lost history cannot be carried out
├── CodeRefused             no such code, expired, or used by another request
└── BadRequest              not a signing request we would sign
"""

from dnspanel.texts import gettext


class FleetError(Exception):
    """Something about a node that a person can read and correct."""


class UnknownNode(FleetError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("There is no node {name}.").format(name=name))


class NameTaken(FleetError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("A node named {name} exists already.").format(name=name))


class BadNode(FleetError):
    """`field` names the value that is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class BadFront(BadNode):
    """A value that no front can have."""


class WrongState(FleetError):
    """The node's state does not allow this act; another person may have been first."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(gettext("{name} {reason}.").format(name=name, reason=reason))


class GroupRefused(FleetError):
    """`field` names the value that is wrong; empty where it is the act itself."""

    def __init__(self, reason: str, *, field: str = "") -> None:
        self.field = field
        super().__init__(reason)


class DeliveryRefused(FleetError):
    """What was wanted of delivery makes no sense just now; the message says what would."""


class WrongDecision(FleetError):
    """What was decided about a lost history cannot be carried out; `field` names the value that is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class CodeRefused(FleetError):
    """One answer for unknown, expired and used codes: a stranger learns nothing from it."""

    def __init__(self) -> None:
        super().__init__(gettext("This code is unknown, has expired, or was used. Make a new one on the node's page."))


class BadRequest(FleetError):
    """Not a certificate signing request that we would sign."""

    def __init__(self, reason: str) -> None:
        super().__init__(gettext("The signing request cannot be used: {reason}.").format(reason=reason))
