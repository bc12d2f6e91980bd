"""What may go wrong with telling people, as one tree. Every message can be shown to the person who caused it.

AlertError
├── RouteUnknown          no such route
├── RouteRefused          a field of the route is not acceptable
└── NotTold               nobody took the message
"""


class AlertError(Exception):
    """Something about alerts that a person can read and mend."""


class RouteUnknown(AlertError):
    """No such route."""

    def __init__(self) -> None:
        super().__init__("There is no such route.")


class RouteRefused(AlertError):
    """The route cannot be made like this; `fields` maps each field to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))


class NotTold(AlertError):
    """Nobody took the message, in the words of whoever refused it."""
